"""The page about JSON output, from the published schemas: who prints it, its keys at the top, and questions asked of it with jq."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.fleet.report.json import COMMANDS as FLEET
from reconciler.journeys.groups.json import COMMANDS as GROUPS
from tests.site.markdown import fenced, page, prose, table
from tests.site.place import REPOSITORY

PRINTED_BY: Mapping[str, tuple[str, ...]] = {
    "plan": ("plan", "review"),
    "apply": ("apply",),
    "drift": ("drift",),
    "drift-watch": ("drift watch",),
    "findings": ("validate",),
    "reports": (),
    "groups": tuple(f"groups {name}" for name in GROUPS),
    "rehearse": ("rehearse",),
    "history": ("history", "history RUN", "history diff"),
    "upgrade-check": ("upgrade-check",),
    "permissions": ("permissions",),
    "fleet-plan": ("fleet plan",),
    **{f"fleet-{name}": (f"fleet {name}",) for name in FLEET},
}
"""By schema, the commands whose `--format json` follows it; of several documents, one for each, in their order."""

ABOUT = {
    "plan": "Plans that `plan --out` saves follow it too, and have `saved` and `fingerprint` beside the rest.",
    "apply": "`drift restore --format json` prints the same.",
    "drift": "`drift watch --format json` prints [lines](#drift-watch) instead, `drift accept` adds what it wrote.",
    "reports": "`validate`, `plan`, `apply`, `drift` and `review` print it where they are given several topologies.",
}
QUESTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "plan": (
        (
            "What would change?",
            """$ reconciler plan shop.yaml --context prod --format json | jq -r '.changes[] | .action + " " + .address'
create consumer/ORDERS/billing
create elastic_group/ORDERS/workers
create stream/ORDERS""",
        ),
        (
            "What is refused, and why?",
            """$ reconciler plan ledger.yaml --context prod --format json \\
    | jq -r '.changes[].verdicts[] | select(.outcome == "refused") | .code + " " + .message'
ST101 storage cannot change from file to memory. The server fixes storage at creation.""",
        ),
    ),
    "apply": (
        (
            "How many steps were done, and which failed?",
            """$ reconciler apply shop.yaml --context prod --yes --format json | jq -c '[(.done | length), [.failed[].id]]'
[5,[]]""",
        ),
    ),
    "drift": (
        (
            "What drifted?",
            """$ reconciler drift shop.yaml --context prod --format json \\
    | jq -r '.items[] | select(.drift) | .address + " " + .fields[].path'
stream/ORDERS max_age""",
        ),
    ),
    "findings": (
        (
            "Which lines are wrong?",
            """$ reconciler validate typo.yaml --format json | jq -r '.diagnostics[] | "\\(.span.file):\\(.span.line) \\(.message)"'
typo.yaml:4 unknown key `subjectz`; did you mean `subjects`?""",
        ),
    ),
    "reports": (
        (
            "Which topologies are there?",
            """$ reconciler validate shop.yaml other.yaml --format json | jq -r '.reports[].topology'
shop
other""",
        ),
    ),
    "groups": (
        (
            "What waits in which group?",
            """$ reconciler groups list --context prod --format json | jq -r '.groups[] | "\\(.address) \\(.queue.messages)"'
elastic_group/ORDERS/workers 0""",
        ),
    ),
    "rehearse": (
        (
            "Did all go well?",
            """$ reconciler rehearse shop.yaml --context prod --format json | jq '.fine'
true""",
        ),
    ),
    "history": (
        (
            "Which topologies were applied, and how did that end?",
            """$ reconciler history --context prod --format json | jq -r '.runs[] | .topology + " " + .outcome'
shop applied""",
        ),
    ),
    "upgrade-check": (
        (
            "Would an upgrade lose, refuse or rewrite anything?",
            """$ reconciler upgrade-check --context prod --server-version 2.15 --format json | jq -c '.summary'
{"lost":0,"offline":0,"emptied":0,"refused":0,"capped":0,"rewritten":0}""",
        ),
    ),
    "permissions": (
        (
            "What does a user who plans have to subscribe to?",
            """$ reconciler permissions plan shop.yaml --format json | jq -c '.subscribe.allow'
["_INBOX.>"]""",
        ),
    ),
    "fleet-plan": (
        (
            "On which targets would something change?",
            """$ reconciler fleet plan fleet.yaml --format json \\
    | jq -r '.targets[] | select(.plan.summary.update > 0) | .target'
eu""",
        ),
    ),
}
"""Questions with the commands that answer them, one after the other on one account."""

BEFORE = {
    "plan": [
        *fenced('yaml title="shop.yaml"', """
reconciler: 1
topology: shop
streams:
  ORDERS:
    subjects: [orders.>]
    max_age: 30d
    consumers:
      billing: {ack_policy: explicit}
    groups:
      workers:
        type: elastic
        max_members: 4
        partitioning_filters: [{filter: orders.*, partitioning_wildcards: [1]}]
        members: [w1, w2]
"""),
        "",
        *fenced('yaml title="ledger.yaml"', """
reconciler: 1
topology: ledger
streams:
  LEDGER: {subjects: [ledger.>], storage: memory}
"""),
        "",
        """<!-- scene: stream LEDGER '{"subjects": ["ledger.>"]}' -->""",
    ],
    "drift": ["""<!-- scene: update ORDERS '{"max_age": 604800000000000}' -->"""],
    "findings": [
        *fenced('yaml title="typo.yaml"', """
reconciler: 1
topology: typo
streams:
  ORDERS: {subjectz: [orders.>]}
"""),
    ],
    "reports": [
        *fenced('yaml title="other.yaml"', """
reconciler: 1
topology: other
kv_buckets:
  CONFIG: {history: 5}
"""),
    ],
    "fleet-plan": [
        *fenced('yaml title="fleet.yaml"', """
reconciler: 1
fleet: shops
targets:
  eu:
    context: prod
    topology: shop.yaml
"""),
    ],
}  # fmt: skip
"""What stands on the page before the questions of a schema."""


def schemas_of(words: str) -> list[str]:
    """Schemas that the command's `--format json` follows."""
    return [name for name, commands in PRINTED_BY.items() if words in commands]


def pages() -> dict[str, str]:
    """By its path below docs/."""
    return {
        "reference/json.md": page(
            ["# JSON output"], *_rules(), *(part for name in PRINTED_BY for part in _section(name))
        )
    }


def _rules() -> Iterator[list[str]]:
    yield [
        "What these commands print with `--format json` is a contract, published as JSON Schema and checked in the tests of every release."
    ]
    yield [
        "* `format` is the version of the contract. It changes when a key goes, or comes to mean something else. Stop at a number that",
        "  you do not know.",
        "* A later release may print more keys under the same number: read past what you do not know. The schema of a release names every",
        "  key that this release prints, and no other.",
        "* Values are raw: durations are nanoseconds, sizes are bytes, and `unit` says which. An absent value is a missing key.",
        "* Lists are in the order of addresses, and equal plans are equal bytes.",
        "* The document goes to stdout, and whatever else there is to say to stderr.",
    ]
    rows = ((f"[{name}](#{name})", _commands(name), _format(name)) for name in PRINTED_BY)
    yield table(("contract", "printed by", "`format`"), rows)
    yield [
        "`reconciler schema NAME` prints each of them, as well as the schemas of [files](files/index.md) (`topology`) and of",
        "[fleet files](files/fleet.md) (`fleet`). Each is enough alone, and `schema --write FOLDER` writes all of them.",
    ]


def _schema(name: str) -> dict[str, Any]:
    return dict(json.loads(SCHEMAS[name]()))


def _commands(name: str) -> str:
    pages_ = dict.fromkeys(words.split()[0] for words in PRINTED_BY[name])
    if len(PRINTED_BY[name]) > len(pages_):
        return ", ".join(f"[`{first} …`](commands/{first}.md)" for first in pages_)
    named = (f"[`{words}`](commands/{words.split()[0]}.md)" for words in PRINTED_BY[name])
    return ", ".join(named) or "commands about several topologies or environments, [`fleet apply`](commands/fleet.md)"


def _format(name: str) -> str:
    schema = _schema(name)
    (number,) = {str(document["properties"]["format"]["const"]) for document in _documents(schema)}
    return number


def _documents(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The document that a schema describes, or each of them."""
    each = (one["$ref"].removeprefix("#/$defs/") for one in schema.get("anyOf", ()))
    return [schema["$defs"][name] for name in each] or [schema]


def _section(name: str) -> Iterator[list[str]]:
    schema = _schema(name)
    file = f"{REPOSITORY}schemas/{name}.schema.json"
    yield [f"## {name}"]
    yield [" ".join(filter(None, (prose(schema["description"]), ABOUT.get(name), f"[Schema]({file})")))]
    yield BEFORE.get(name, [])
    for question, example in QUESTIONS.get(name, ()):
        yield [question]
        yield fenced("console", example)
    for title, document in zip(_titles(name, schema), _documents(schema), strict=True):
        if document is not schema:
            yield [f"### {title}"]
        yield _keys(document)


def _titles(name: str, schema: Mapping[str, Any]) -> Sequence[str]:
    """The commands that print each of several documents, or the names of documents that one command prints."""
    names = [document["$ref"].removeprefix("#/$defs/") for document in schema.get("anyOf", ())]
    return (PRINTED_BY[name] if len(PRINTED_BY[name]) == len(names) else names) or [""]


def _keys(schema: Mapping[str, Any]) -> list[str]:
    required = schema["required"]
    rows = (
        (f"`{name}`", prose(below["description"]), "" if name in required else "not always")
        for name, below in sorted(schema["properties"].items(), key=lambda item: item[0] not in required)
    )
    return table(("key", "", "there"), rows)
