"""A plan in which everything that others may write tries to be something else: escapes, markup, commands, sheer size."""

from __future__ import annotations

from dataclasses import replace

from reconciler.changes.change import Action, Consequence
from reconciler.changes.effect import Side
from reconciler.changes.plan import Plan
from reconciler.changes.rehearsal import Experience, Foresight, Missing, Probe, Unshown
from reconciler.changes.verdict import Outcome
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from reconciler.report.document.document import Document
from reconciler.report.document.pieces import (
    BarChart,
    Cell,
    ColumnChart,
    ConsentToCopy,
    DifferenceRow,
    Differences,
    Grid,
    HeatMap,
    Judgement,
    ListChange,
    Names,
    PartitionMap,
    Piece,
    Prose,
    Series,
    Statement,
    Tile,
    Tiles,
    WaysOut,
)
from reconciler.report.document.probe import clients_part
from tests.report.plans import create, delete, field, plan, planned, update, verdict

TRICKS = (
    "\x1b[2J\x1b]0;owned\x07",
    "\u202eexe.yaml",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "--> <!-- ]]> &amp; \"' onload='x",
    "`` ` ``` | @everyone #1 GH-1 https://evil.example [x](javascript:alert(1)) ![x](http://evil.example/p.png)",
    "\n::error file=x::owned\n::stop-commands::x",
    "%0A::set-output name=x::y",
    "| a | b |\n|---|---|\n# Heading\n</details>",
    "\ud800 \ufffe \x00 \x85 \u2028",
    "\n```\n# Heading\n@everyone\n",
)
HUGE = "long and longer, " * 6_000


def hostile(trick: str) -> Document:
    """Every text of a plan is the trick."""
    place = SourceSpan(f"streams/{trick}.yaml", 3, 5, 3, 9)
    refused = verdict(
        "ST101", "storage-change", Outcome.REFUSED, trick, f"stream/{trick}", path=trick, span=place,
        fix=f"{trick} allow: [{{code: ST101, to: {trick}}}]", to=trick, consentable=True, quantities={trick: 1},
    )  # fmt: skip
    warned = verdict("ST302", "x", Outcome.WARNS, trick, f"stream/2{trick}", fix=trick)
    consented = verdict("ST303", "x", Outcome.NEEDS_CONSENT, trick, f"stream/2{trick}", consented=trick)
    drawn = {"now": [trick, None], "then": [None, trick], "queued": [1, 2]}
    moved = Consequence(message=trick, quantities={trick: 1}, detail={"partition_map": drawn})
    made = plan(
        update(f"stream/{trick}", field(trick, trick, HUGE), verdicts=(refused,), span=place, reason=trick),
        update(f"stream/2{trick}", field("a", [trick], {trick: trick}), verdicts=(warned, consented), span=place,
               consequences=(moved,)),
        create(f"consumer/x/{trick}", span=place),
        create(f"stream/3{trick}", blocked_by=f"stream/{trick}"),
        delete(f"stream/4{trick}", trick),
        planned(f"stream/5{trick}", Action.UNKNOWN, reason=trick),
        topology=trick, diagnostics=(Diagnostic(severity=Severity.WARNING, code="XX302", name="x", message=trick,
                                                span=place, fix=trick),),
        target=Target(version=Version(2, 12), account=trick, cluster=trick, domain=trick),
        unmanaged=(trick,),
    )  # fmt: skip
    return Document(
        topology=trick,
        plan=made,
        arguments=trick,
        outcome=trick,
        explain=lambda _code: trick,
        parts=(clients_part(felt(trick)),),
    )


def every_piece(trick: str) -> tuple[Piece, ...]:
    """One of each sort, with this in every text of it."""
    grid = Grid(head=(trick, trick), rows=((Cell(text=trick, alike=(trick, trick)), Cell(text=trick, is_code=True)),))
    wide = replace(grid, rows=((Cell(text=trick * 9), Cell(text="x" * 200)),), is_stacked=True)
    row = DifferenceRow(path=trick, before=trick * 9, after="x" * 200, words=trick, items=ListChange(trick, trick, 1))
    consent = ConsentToCopy(words=trick, entry=trick, language="yaml")
    each = Statement(text=trick, each=((trick, trick), (trick, trick)))
    judgement = Judgement(
        code="ST101", name=trick, status=trick, tone="bad", statement=each, reason=trick, way_out=trick, consent=consent
    )
    series = Series(name=trick, values=(1,))
    return (
        grid, wide, Differences(rows=(row,), sides=(trick, trick)), each, judgement,
        PartitionMap(drawn={"now": [trick], "then": ["b"], "queued": [3]}), Names(word=trick, names=(trick,)),
        WaysOut(lines=(trick,)), Prose(lines=(trick,)), Prose(lines=(trick,), is_list=True),
        Tiles(tiles=(Tile(label=trick, value=trick, note=trick),)),
        ColumnChart(labels=(trick,), series=(series,), what=trick),
        HeatMap(rows=(trick,), columns=(trick,), values=((1,),), what=trick),
        BarChart(title=trick, labels=(trick,), values=(1,), what=trick),
    )  # fmt: skip


def felt(trick: str) -> Probe:
    """By clients whose subjects and streams have that name."""
    rows = [
        Experience(
            address=f"stream/{trick}", operation=trick, side=Side.READERS, before=trick, after=f"2{trick}", foresight=one,
            codes=("ST601",), reason=trick,
        )
        for one in Foresight
    ]  # fmt: skip
    return Probe(
        operations=9, objects=(f"stream/{trick}", f"stream/2{trick}"), messages=3, felt=tuple(rows), consented=(trick,),
        unshown=(Unshown(address=trick, code="ST601", message=trick),), unplayed=(Missing(trick, trick),),
    )  # fmt: skip


def many(count: int) -> Plan:
    """So many changes, none like the other."""
    return plan(*(update(f"stream/S{n:05}", field("max_msgs", n, n + 1)) for n in range(count)))
