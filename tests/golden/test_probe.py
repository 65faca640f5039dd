"""What clients feel, in the formats that people and tools read: `pytest tests/golden --update-golden` rewrites them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.changes.effect import Side
from reconciler.changes.events import Finished
from reconciler.changes.rehearsal import Experience, Foresight, Missing, Probe, Rehearsal, Unshown
from reconciler.journeys.rehearse.json import rehearsal_report
from reconciler.journeys.rehearse.text import rehearsal_findings, rehearsal_text
from reconciler.kinds import REGISTRY
from reconciler.report.document.document import Document
from reconciler.report.document.probe import clients_part, in_better_words
from reconciler.report.formats import FORMATS
from tests.golden.test_golden import FOLDER, folder, planned, same
from tests.support.topologies import from_files

__all__ = ["folder"]

GOLDEN = {
    "text": "rehearsal.txt", "json": "rehearsal.json", "markdown": "rehearsal.md", "html": "rehearsal.html",
    "github": "rehearsal.annotations", "sarif": "rehearsal.sarif", "junit": "rehearsal.xml",
}  # fmt: skip
DISPATCH, ORDERS, CONFIG = "consumer/ORDERS/dispatch", "stream/ORDERS", "kv_bucket/CONFIG"


def felt(
    address: str, operation: str, before: str, after: str, told: Foresight = Foresight.FORETOLD, *codes: str,
    side: Side = Side.READERS, reason: str = "",
) -> Experience:  # fmt: skip
    return Experience(
        address=address,
        operation=operation,
        side=side,
        before=before,
        after=after,
        foresight=told,
        codes=codes,
        reason=reason,
    )


FELT = (
    felt(DISPATCH, "read one", "1 messages, 11", "1 messages, 11, headers only 11", Foresight.FORETOLD, "CO601"),
    felt(DISPATCH, "read one within 100 ms", "1 messages, 13", "1 messages, 13, headers only 13", Foresight.FORETOLD, "CO601"),
    felt(DISPATCH, "read one for a group", "1 messages, 15", "1 messages, 15, headers only 15", Foresight.FORETOLD, "CO601"),
    felt(DISPATCH, "read 100", "37 messages, 27 29 31 33 35 37-99, 404 No Messages",
         "0 messages, 409 Exceeded MaxRequestBatch of", Foresight.FORETOLD, "CO602"),
    felt(ORDERS, "publish large", "stored in ORDERS", "refused 10054", Foresight.FORETOLD, "ST601", side=Side.PUBLISHERS),
    felt(ORDERS, "get by sequence", "messages 3", "nothing listens there", Foresight.UNFORETOLD, side=Side.DIRECT_GETS),
    felt(CONFIG, "stored after publishing", "9 from 36 on: $KV.CONFIG.one 9", "14 from 28 on: $KV.CONFIG.one 14",
         Foresight.HARMLESS, side=Side.STORED, reason="more is kept, for longer"),
    felt(ORDERS, "stored after publishing", "118 from 1 on: orders.a 118", "117 from 1 on: orders.a 117",
         Foresight.FOLLOWS, side=Side.STORED),
)  # fmt: skip
PROBE = Probe(
    operations=216, objects=(ORDERS, DISPATCH, "consumer/ORDERS/billing", CONFIG), messages=100, felt=FELT,
    unshown=(Unshown(address=ORDERS, code="ST301", message="from then on the server deletes messages when they are 3d old"),),
    unplayed=(Missing("consumer/ORDERS/west", "it is new: no client uses it yet"),),
    consented=(DISPATCH,),
)  # fmt: skip


def rehearsal(folder: Path, probe: Probe = PROBE) -> Rehearsal:
    return Rehearsal(version="2.12.8", size=3, plan=planned("showcase", folder), finished=Finished(), probe=probe)


def document(folder: Path, probe: Probe = PROBE) -> Document:
    found = rehearsal(folder, probe)
    return Document(
        kinds=REGISTRY.by_name,
        command="rehearse", topology=found.plan.topology, plan=found.plan, declared=from_files(Path("desired.yaml")),
        title=f"{found.plan.topology} on throw-away servers", goes_on=True, outcome=rehearsal_text(found),
        parts=(clients_part(probe),),
        diagnostics=tuple(rehearsal_findings(found)), explain=lambda code: f"What {code} means.\n\nInstead: what its page says.",
        data=rehearsal_report(found, 1),
    )  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_what_clients_feel_looks_as_expected(name: str, folder: Path, update_golden: bool) -> None:
    same(FOLDER / "probe" / GOLDEN[name], FORMATS[name](document(folder)), update=update_golden)


def test_every_format_has_a_golden_file() -> None:
    assert GOLDEN.keys() == FORMATS.keys()


def test_where_nothing_differs_one_line_is_all(folder: Path) -> None:
    quiet = Probe(operations=62, objects=(ORDERS, DISPATCH), messages=100)
    text = FORMATS["text"](document(folder, quiet))
    assert text.endswith("\nNothing changes for clients: 62 operations on 2 objects.\n")


def test_what_was_not_foretold_stands_first(folder: Path) -> None:
    text = FORMATS["text"](document(folder)).partition("What clients feel")[2]
    assert text.index("NOT FORETOLD") < text.index("CO601")
    assert text.endswith("The probe failed: 1 difference that the plan does not foretell. Judge it before you apply.\n")


def test_a_list_that_is_cut_off_says_how_many_there_are(folder: Path) -> None:
    many = replace(PROBE, unplayed=tuple(Missing(f"stream/S{number}", "it is new") for number in range(30)))
    for name in ("html", "markdown"):
        written = FORMATS[name](document(folder, many))
        assert "Not tried: 30" in written
        assert "10 more" in written


def test_what_follows_is_counted_by_difference_as_above(folder: Path) -> None:
    again = replace(FELT[-1], operation="stored again")
    html = FORMATS["html"](document(folder, replace(PROBE, felt=(*FELT, again))))
    assert "2 more only follow from these" in html
    assert "Follows from these: 2" in html


@pytest.mark.parametrize(
    ("noted", "read"),
    [
        ("taken: it comes again, 1 messages", "taken: it comes again, 1 message"),
        ("21 messages, 1-21, headers only 1-21", "21 messages (1-21), headers only: 1-21"),
        ("0 messages, 409 Exceeded MaxRequestBatch of", "0 messages, 409 Exceeded MaxRequestBatch"),
    ],
)
def test_what_the_battery_notes_reads_well(noted: str, read: str) -> None:
    assert in_better_words(noted) == read
