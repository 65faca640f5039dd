"""The page of each code, and the index of them: what it means, an example with its plan, the way out, and what servers do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from reconciler.changes.change import Action
from reconciler.changes.rule import Rule
from reconciler.changes.verdict import Outcome, Reaction, Verdict
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import CHAPTERS, Page
from reconciler.report.document.judgements import consent_entry, lacks_consent
from reconciler.report.words.paper import Paper
from reconciler.report.words.reference import judged_on_line, reaction_text
from reconciler.report.words.ways_out import sentence
from tests.agreement.data import measured, of_code
from tests.rules.examples import FILE, Example, consented_example, example
from tests.site.beside import beside
from tests.site.markdown import as_code, fenced, prose, table
from tests.site.page import WIDTH
from tests.support.reports import plan_text

FOLDER = "reference/rules"
FAMILIES = {**{kind.family: kind.title for kind in REGISTRY.kinds}, "XX": "Across resources"}
HUNDREDS = """\
The first digit says what a rule is about: 1xx what is fixed at creation, 2xx what goes one way or is about neighbours, 3xx what
loses data or a position, 4xx what needs a server version, 5xx what is invalid, 6xx what clients feel.
"""
ENTRIES = (r"\b(?:allow|moved): \[.*\]", r"--allow \S+=[^\s;,]+", r"\bremoved: \[.*\]")
"""How a consent may be offered in the words of a rule, the most exact first."""
WHY_NOT = {
    Reaction.REFUSES: "the server itself refuses it.",
    Reaction.INERT: "the server answers ok and changes nothing, so the files and the server would differ for ever.",
    Reaction.DROPS: "the server answers ok and drops it, so the files and the server would differ for ever.",
    Reaction.DOOMS: "the server answers ok, and may lose the object or its state at its next restart or upgrade.",
}
DONE = (Action.CREATE, Action.UPDATE, Action.DELETE, Action.REPLACE)

Answers = Mapping[str, Mapping[str, Any]]


def pages() -> dict[str, str]:
    """Every page by its path below docs/."""
    rules = sorted(REGISTRY.rules(), key=lambda rule: rule.code)
    found = {rule.code: rule_page(rule) for rule in rules}
    found |= {code: other_page(code, one, title) for title, code, one in others()}
    return {f"{FOLDER}/index.md": index(rules), **{f"{FOLDER}/{code}.md": text for code, text in found.items()}}


def others() -> Iterator[tuple[str, str, Page]]:
    """Codes that no rule gives, each with its chapter; what all families share has a page for each of them."""
    for title, chapter in CHAPTERS.items():
        for code, one in chapter.items():
            yield from ((title, each, one) for each in each_code(code))


def each_code(code: str) -> list[str]:
    """`?501` is ST501, CO501 …"""
    return [code.replace("?", family) for family in FAMILIES] if "?" in code else [code]


def index(rules: Sequence[Rule]) -> str:
    """All codes by family, a line each."""
    lines = [
        "# Rules and other codes",
        "",
        "`reconciler explain CODE` says in a terminal what a code means.",
        "",
        HUNDREDS,
    ]
    for family, title in FAMILIES.items():
        lines += [f"## {title} ({family})", ""]
        lines += [f"- {_link(one.code)} {one.name}: {_first(one.doc)}" for one in rules if one.code.startswith(family)]
        lines += [""]
    for title, chapter in CHAPTERS.items():
        lines += [f"## {title}", ""]
        for code, one in chapter.items():
            lines += [f"- {' '.join(map(_link, each_code(code)))} {one.name}: {_first(one.means)}"]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def rule_page(rule: Rule) -> str:
    """The page of a rule."""
    *about, way_out = rule.doc.split("\n\n")
    one = example(rule.code)
    parts = [
        f"# {rule.code} {rule.name}",
        *map(_paragraph, about),
        f"{judged_on_line(rule)} The server itself {reaction_text(rule)}.",
        "## Example",
        *_example(one),
        "## What to do",
        _paragraph(way_out),
        *_consent(one),
        "## What nats-server does",
        *(_servers(rule.code) or [_unmeasured(one)]),
    ]
    return "\n\n".join(parts) + "\n"


def other_page(code: str, one: Page, chapter: str) -> str:
    """The page of a code that no rule gives."""
    of_files = "This code is about files alone: reconciler sends nothing to a server, so there is nothing to measure."
    why = (
        of_files
        if chapter == "Files"
        else "This code judges no change that a server could answer, so there is nothing to measure."
    )
    parts = [
        f"# {code} {one.name}",
        _paragraph(one.means),
        "## What to do",
        f"Instead: {prose(one.instead)}.",
        "## What nats-server does",
        *(_servers(code) or [why]),
    ]
    return "\n\n".join(parts) + "\n"


def _example(one: Example) -> Iterator[str]:
    if one.before:
        is_applied = one.case.get("owner", "") is not None
        yield "What was applied before:" if is_applied else "The live objects, written as a file:"
        yield _block("yaml", one.before)
    yield f"`{FILE}`{' now' if one.before else ''}:"
    yield _block("yaml", one.after)
    if clauses := list(beside(one)):
        yield f"Beside the files: {'; '.join(clauses)}."
    yield f"`reconciler plan {FILE}` says:"
    yield _block("text", plan_text(one.plan, Paper(width=WIDTH), arguments=FILE))


def _consent(one: Example) -> Iterator[str]:
    """How to consent, or why that is of no use."""
    verdict = one.verdict
    if verdict.outcome is Outcome.WARNS:
        yield "This is a warning: it stops no plan and takes no consent."
    elif verdict.consentable:
        entry = _entry(one)
        how = "add this option" if entry.startswith("--") else f"write this entry at `{one.change.address}` in the file"
        yield f"To allow this change, {how}:"
        yield _block(_language(entry), entry)
    elif other := consented_example(one.code):
        entry = _entry(other)
        yield f"No consent permits the change of the example. In another case (“{other.case['case']}”) this entry does:"
        yield _block(_language(entry), entry)
    else:
        yield f"No consent permits it: {WHY_NOT.get(verdict.reaction) or _reason(verdict)}"


def _entry(one: Example) -> str:
    """The exact entry or option that the plan offers."""
    if lacks_consent(one.verdict):
        return consent_entry(one.verdict, one.change)
    offered = (re.search(pattern, one.verdict.fix or "") for pattern in ENTRIES)
    return next((found.group() for found in offered if found), consent_entry(one.verdict, one.change))


def _language(entry: str) -> str:
    return "text" if entry.startswith("--") else "yaml"


def _reason(verdict: Verdict) -> str:
    words = prose(sentence(verdict.message, verdict.path))
    return words[0].lower() + words[1:] if words[:2].istitle() else words


def _servers(code: str) -> list[str]:
    """What was measured, in tables; empty where nothing was."""
    found = of_code(code)
    own, changes, harms = (found.get(name, {}) for name in ("example", "changes", "harms"))
    is_clustered = bool(harms) and not own and "cluster" in example(code).case
    said = [_measured_on("a cluster of three" if is_clustered else "a single server")] if found else []
    if own or harms:
        said += [_table(own, harms)]
    if changes:
        said += [
            "Other changes that this code is about:" if own or harms else "Changes that this code is about:",
            _changes(changes),
        ]
    return said


def _measured_on(what: str) -> str:
    *most, last = versions().values()
    return (
        f"Measured on {measured()['measured']} with nats-server {', '.join(most)} and {last}, {what} each. Each got "
        "the change as if reconciler had no rule against it."
    )


@cache
def versions() -> Mapping[str, str]:
    """Minor version → the patch release that was measured, the oldest first."""
    servers = measured()["servers"]
    return {minor: servers[minor] for minor in sorted(servers, key=lambda name: [*map(int, name.split("."))])}


def _table(own: Answers, harms: Mapping[str, Sequence[str]]) -> str:
    rows, before = [], ""
    for minor, patch in versions().items():
        felt = "<br>".join(map(prose, harms.get(minor, ())))
        answer = _answer(own[minor]) if minor in own else ""
        rows.append((patch, answer or ("–" if own else ""), "the same" if felt and felt == before else felt))
        before = felt
    missing = own and len(own) < len(versions())
    lines = table(("nats-server", "its answer to the example", "loss or effect"), rows)
    return "\n".join(
        [*lines, *(["", "–: this version cannot hold the live objects of the example."] if missing else [])]
    )


def _answer(said: Mapping[str, Any]) -> str:
    if said["answer"] == "refuses":
        return f"refuses it: {said['err_code']}, {prose(said['description'])}"
    words = "accepts it"
    words += f", and drops {_listed(said['dropped'])}" if "dropped" in said else ""
    if "lost" in said:
        lost = "; ".join(map(_loss, said["lost"]))
        words += f"; after a restart {lost}" if lost else f"; no loss seen in {said['restarts']} restarts"
    if "lost_after_upgrade" in said:
        words += f"; after an upgrade to the next version {'; '.join(map(_loss, said['lost_after_upgrade']))}"
    return words


def _loss(words: str) -> str:
    return prose(words.replace(" is otherwise: ", " has changed: ").replace("None", "none"))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _changes(changes: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(
        table(("change", "nats-server"), ((_change(one["change"]), _by_version(one["answers"])) for one in changes))
    )


def _by_version(answers: Answers) -> str:
    """Versions that answer alike together: `2.11, 2.12: accepts it<br>2.14, 2.15: refuses it: 10052, …`."""
    alike: dict[str, list[str]] = {}
    for minor in versions():
        if minor in answers:
            alike.setdefault(_answer(answers[minor]), []).append(minor)
    return "<br>".join(f"{', '.join(minors)}: {words}" for words, minors in alike.items())


def _change(said: Mapping[str, Any]) -> str:
    kind, *names = said["at"].split("/")
    live = dict(said.get("live", {}))
    below = {"kv_bucket": "KV_", "object_store": "OBJ_"}.get(kind, "") + "/".join(names)
    own = live.pop(below, None)
    what = f"{kind.replace('_', ' ')} {'/'.join(names)}"
    if "removes" in said:
        words = f"{what} is removed"
    elif own is not None:
        words = f"{as_code(said.get('edits') or said['says'])} at {what}, which is {as_code(own)}"
    else:
        words = f"{what} is made: {as_code(said['says'])}"
    beside = [f"{'consumer' if '/' in name else 'stream'} {name} {as_code(body)}" for name, body in live.items()]
    heard = [f"while a client listens on {', '.join(said['listens'])}"] if "listens" in said else []
    account = [f"in an account with {as_code(said['account'])}"] if "account" in said else []
    return "; ".join([words, *([f"beside {', '.join(beside)}"] if beside else []), *heard, *account])


def _unmeasured(one: Example) -> str:
    """Why there is no table."""
    twin = f"ST{one.code[2:]}"
    if one.code[:2] in ("KV", "OB") and of_code(twin):
        return f"The server knows only the stream of the bucket: {_link(twin)} says what was measured there."
    if one.change.action not in DONE:
        return "Reconciler sends nothing to the server in this case, so there is nothing to measure."
    if "cluster" in one.case:
        return "This needs a cluster, and the measured servers are single ones."
    return "No single request to a server makes this change, so there is nothing to measure."


def _link(code: str) -> str:
    return f"[{code}]({code}.md)"


def _first(text: str) -> str:
    """The first sentence."""
    words = " ".join(text.partition("\n\n")[0].split())
    return prose(re.split(r"(?<=[.!?])\s", words, maxsplit=1)[0])


def _paragraph(text: str) -> str:
    """Indented lines are an example, and stay as they are."""
    if any(line.startswith(" ") for line in text.splitlines()):
        return _block("yaml", text)
    return prose(" ".join(text.split()))


def _block(language: str, text: str) -> str:
    return "\n".join(fenced(language, text))
