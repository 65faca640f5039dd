"""The table of a run over all versions, and everything in it that must not be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.verdict import Reaction
from tests.agreement.case import Case
from tests.agreement.codes import NAMED, UNREACHED
from tests.agreement.judging import RULES, Kind
from tests.agreement.tally import Tally

NOT_NEEDED = {
    "OB401": "nothing that an object store's file may say is younger than the oldest supported server",
    "XX202": "two streams exchange subjects: a case has one change; tests/rules and the tests of exchanges have both",
    "XX226": "accounts with limits by number of replicas live in clusters with operators",
    "XX227": "only a cluster is short of servers; tests/server/test_peers.py compares with one",
    "CO583": "what feeds a copy takes a moment to begin; tests/kinds/test_copied_streams.py waits for it on real servers",
    "EG546": "a case never makes the bucket of groups wrong; tests/kinds/test_groups.py asks real servers",
    "SG546": "as EG546",
    "XX551": "two groups with one queue: a case has one change; tests/rules has both",
}
"""Rules that may be left out without any case of a single server noticing, with the reason."""


def unreached(tallies: Sequence[Tally]) -> list[int]:
    """err_codes that no version answered, though some should have."""
    return sorted(set(NAMED) - set().union(*(t.codes for t in tallies)) - UNREACHED.keys())


def unneeded(tallies: Sequence[Tally]) -> list[str]:
    """Rules that foretell a refusal and could be left out without any case noticing."""
    found = set().union(*(t.needed for t in tallies))
    foretelling = {code for code, rule in RULES.items() if rule.reaction is Reaction.REFUSES}
    return sorted(foretelling - found - NOT_NEEDED.keys())


def table(tallies: Sequence[Tally], times: int) -> str:
    """Per version: how often what was said."""
    codes = sorted({code for tally in tallies for code in tally.stricter})
    rows = {
        "cases": [t.cases for t in tallies],
        "could not be made": [t.kinds[Kind.UNBORN] for t in tallies],
        "agreements": [t.kinds[Kind.AGREED] for t in tallies],
        "  refused alike": [sum(t.agreed.values()) for t in tallies],
        "nothing to write": [t.kinds[Kind.NOTHING] for t in tallies],
        "nobody could know": [t.kinds[Kind.UNKNOWABLE] for t in tallies],
        "stricter on purpose": [t.kinds[Kind.STRICTER] for t in tallies],
        **{
            f"  {code} {RULES[code].name if code in RULES else ''}": [t.stricter[code] for t in tallies]
            for code in codes
        },
        "seen after a restart": [t.restarted for t in tallies],
        "losses foretold and seen": [sum(t.doomed.values()) for t in tallies],
        "disagreements": [t.total_wrong for t in tallies],
        "rows seen too seldom": [len(t.missing(times)) for t in tallies],
    }
    lines = [f"{'':40}" + "".join(f"{t.version:>10}" for t in tallies)]
    lines += [f"{name:40}" + "".join(f"{n:>10}" for n in numbers) for name, numbers in rows.items()]
    return "\n".join(lines)


def problems(tallies: Sequence[Tally], times: int, *, every_version: bool) -> list[str]:
    """What must not be, in words; the most frequent disagreements first."""
    found = list(_disagreements(tallies))
    found += [f"{t.version}: {row} was {side} too seldom" for t in tallies for row, side in t.missing(times)]
    found += [f"{t.version}: {t.kinds[Kind.UNBORN]} cases could not be made" for t in tallies if t.is_barren]
    if every_version:
        found += [f"{t.version}: no loss that we foretold was seen after a restart" for t in tallies if not t.doomed]
        found += [f"err_code {code} was never answered" for code in unreached(tallies)]
        found += [f"{code} could be left out and no case would notice" for code in unneeded(tallies)]
    return found


def _disagreements(tallies: Sequence[Tally]) -> Iterator[str]:
    together: dict[str, dict[str, list[Case]]] = {}
    for tally in tallies:
        for why, cases in tally.wrong.items():
            together.setdefault(why, {})[tally.version] = cases
    for why, by in sorted(together.items(), key=lambda item: -sum(map(len, item[1].values()))):
        smallest = min((str(case) for cases in by.values() for case in cases), key=len)
        where = ", ".join(f"{version} × {len(cases)}" for version, cases in by.items())
        yield f"{where}: {why}\n    " + smallest.replace("\n", "\n    ")[:800]
