"""The page about how it is tested: its counts are those of this tree."""

from __future__ import annotations

from reconciler.kinds import REGISTRY
from tests.agreement.rows import ROWS
from tests.sabotage.acts import ACTS
from tests.site.page import blocks, examples, pages
from tests.site.place import ROOT
from tests.support.binaries import VERSIONS

PAGE = """\
# How it is tested

Your data hangs on this tool being right. So each promise has a test that fails when the promise is broken, and the tests talk to real
servers: nats-server {versions}.

## What is proven, and how

| promise | proof |
|---|---|
| a verdict is what the server answers, or is stricter for a harm that was shown | {rules} rules, {rows} rows of cases sent to every version, and random cases: `make agreement N=5000` |
| apply, then plan: empty | every kind, field and version, drawn at random: `make convergence` |
| nothing live goes unseen | random accounts are copied by export and apply, and changed by hand in random fields: `make faithful` |
| what a plan counts is what happens | drawn changes are carried out, and messages counted afterwards: `make truth` |
| what clients feel is foretold | clients publish, read, get and delete with and without each change: `make probes` |
| cut it anywhere, and nothing is lost | an apply is killed, disconnected, refused, delayed, doubled and suspended at every request and reply, on every version and a cluster: `make faults` |
| power may fail | the server comes back with one store older than the rest, after each write: `make power` |
| groups are shared with other clients | the Go reference implementation works on the same groups: `make interop` |
| the proofs can fail | {acts} small acts of sabotage on copies of the code, each noticed by the tests that are there for it: `make sabotage` |
| the documentation is true | {examples} commands on {pages} pages are run on real servers, and what they print is compared |

## What runs when

`make test` runs everything on the oldest and the newest server, with a sample of the long proofs. `make test-versions` runs it on the
versions between. Nothing lands unless both are green from a clean clone. The long proofs run before a release.

## Speed

Speed is measured as a ratio to a floor in the same run, so that the machine does not matter: `make bench`. `make curve` measures what each
command costs per object among 6,000 and among 60,000 objects, and fails when it grows.

## Known limits

* Streams and consumers have no compare-and-set on the server. [One at a time](../concepts/one-at-a-time.md) says what remains.
* What an estimate cannot know, the plan says with bounds: "at least", "at most", "about".
* Members of static groups, and clusters with groups, are not part of the client probes.
"""


def page() -> dict[str, str]:
    """The page with today's counts."""
    written = [path for path in pages(ROOT) if not path.is_relative_to(ROOT / "docs" / "reference")]
    commands = [
        example
        for path in written
        for block in blocks(path.read_text(encoding="utf-8"))
        if block.language == "console"
        for example in examples(block)
    ]
    *older, newest = VERSIONS.values()
    text = PAGE.format(
        versions=f"{', '.join(older)} and {newest}", rules=len(REGISTRY.rules()), rows=len(ROWS), acts=len(ACTS),
        examples=len(commands), pages=len(written),
    )  # fmt: skip
    return {"why/how-it-is-tested.md": text}
