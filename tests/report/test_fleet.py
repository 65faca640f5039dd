"""Reports about fleets in every format: golden files, published schemas, and names that mean harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from reconciler.fleet.report.drift import equal_drift, trend_part
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.json import COMMANDS, findings_document, fleet_schema
from reconciler.fleet.report.overview import overview, totals_line
from reconciler.fleet.report.report import report_of
from reconciler.fleet.report.run_rows import Count, DriftEntry, SeenTarget
from reconciler.report.codec.json import json_of
from reconciler.report.codec.shape import data_of
from reconciler.report.document.pieces import HeatMap, Tile, Tiles
from reconciler.report.formats import FORMATS as OF_REPORTS
from reconciler.report.markdown import markdown
from reconciler.report.words.paper import Paper
from tests.report import fleets
from tests.report.golden import same_as_golden
from tests.report.hostile import TRICKS
from tests.report.test_html import PAGE, Parsed

FORMATS: dict[str, Callable[[FleetFindings], str]] = {
    "txt": lambda found: OF_REPORTS["text"](replace(report_of(found), paper=Paper(width=120))),
    "md": lambda found: OF_REPORTS["markdown"](report_of(found)),
    "html": lambda found: OF_REPORTS["html"](report_of(found)),
    "json": lambda found: json_of(findings_document(found)),
}
FLEETS = {
    "report": fleets.everything(), "drift": fleets.drift_only(), "well": fleets.well(), "skew": fleets.spread(),
    "events": fleets.told(), "history": fleets.past_only(), "partly-old": fleets.partly_old(), "uncompared": fleets.uncompared(),
}  # fmt: skip


GOLDEN = [(name, format_) for name in FLEETS for format_ in FORMATS if format_ != "html" or name == "report"]
"""One page shows every part; of the others the words are enough."""


@pytest.mark.parametrize(("name", "format_"), GOLDEN)
def test_a_report_reads_as_its_golden_file(name: str, format_: str) -> None:
    same_as_golden(f"fleet/{name}.{format_}", FORMATS[format_](FLEETS[name]))


@pytest.mark.parametrize("name", [*FLEETS])
def test_json_is_as_published(name: str) -> None:
    found = FLEETS[name]
    schema = json.loads(fleet_schema(found.command))
    problems = [error.message for error in Draft202012Validator(schema).iter_errors(data_of(findings_document(found)))]
    assert problems == []


@pytest.mark.parametrize("command", [*COMMANDS])
def test_a_schema_is_one(command: str) -> None:
    Draft202012Validator.check_schema(json.loads(fleet_schema(command)))


@pytest.mark.parametrize("name", [*FLEETS])
def test_a_page_is_well_formed_and_every_link_leads_somewhere(name: str) -> None:
    page = parsed(FLEETS[name])
    assert (page.errors, page.open) == ([], [])
    assert len(page.all("id")) == len(set(page.all("id")))
    assert {link.removeprefix("#") for link in page.all("href") if not PAGE.fullmatch(link)} <= set(page.all("id"))


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_what_others_wrote_is_shown_and_never_obeyed(trick: str) -> None:
    page, plain = parsed(fleets.hostile(trick)), parsed(fleets.everything())
    assert (page.errors, page.open) == ([], [])
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements}
    said = FORMATS["txt"](fleets.hostile(trick)) + FORMATS["json"](fleets.hostile(trick))
    assert not any(ord(character) < 0x20 and character != "\n" for character in said)
    assert json.loads(FORMATS["json"](fleets.hostile(trick)))["fleet"] == trick


def test_a_target_that_nobody_looked_at_in_a_run_is_not_shown_as_well() -> None:
    trend = tuple({**one, "opened": 0, "open": 0} for one in fleets.trend())
    (heat,) = [one for one in trend_part(trend, {fleets.RUNS[0]: {"eu-1": 2}}).pieces if isinstance(one, HeatMap)]
    assert heat.values == ((2, None, None, None, None),)


def test_who_sees_that_something_strayed_is_not_told_that_all_is_well() -> None:
    many = tuple(Count(target=f"eu-{n}", standing="changed", objects=30, drifted=30) for n in range(9))
    said = shown(with_counts(*many, Count(target="us", standing="foreign", objects=1, drifted=1)))
    assert "Nothing needs attention" not in said
    assert "270 objects were changed outside on eu-0, eu-1, eu-2 and 6 more." in said
    assert "1 object belongs to somebody else on us." in said


def test_what_nobody_could_tell_is_neither_drift_nor_as_it_was_applied() -> None:
    found = with_counts(*(Count(target=f"eu-{n}", standing="unknown", objects=1) for n in range(1_000)))
    said = shown(found)
    assert totals_line(found) == "no drift found · 1_000 unknown · 0 targets as applied"
    assert "Not everything could be read on eu-0, eu-1, eu-10 and 997 more: 1_000 unknown." in said
    (tile,) = [one for one in tiles(found) if one.label == "Targets with drift"]
    assert (tile.value, tile.note, tile.tone) == ("0 of 1_000", "1_000 unknown", "odd")


def test_an_object_whose_record_cannot_be_used_wants_attention_and_is_no_drift() -> None:
    found = with_counts(Count(target="eu", standing="unremembered", objects=2))
    assert "Records cannot be used: nobody knows what was applied of 2 objects on eu." in shown(found)
    (tile,) = [one for one in tiles(found) if one.label == "Targets with drift"]
    assert (tile.value, tile.note, tile.tone) == ("0 of 1", "2 unremembered", "odd")


def test_a_target_that_could_not_be_read_and_is_to_hold_nothing_is_not_as_applied() -> None:
    found = FleetFindings(command="drift", fleet="f", drift=(), compared=frozenset({"eu"}),
                  targets=(fleets.target("eu"), fleets.target("bare", error="no answer within 5s")))  # fmt: skip
    assert totals_line(found) == "no drift found · 1 target not read · 1 target as applied"


def test_what_was_looked_at_and_is_well_is_no_difference() -> None:
    watched = tuple(one for one in fleets.history() if one["state"] == "watched")
    assert (
        totals_line(FleetFindings(command="history", fleet="f", history=watched, repairs=())) == "0 differences so far"
    )
    assert totals_line(fleets.past_only()).startswith("13 differences so far")


@pytest.mark.parametrize(
    ("with_peers", "said"),
    [
        (
            0,
            "Nothing was compared: no target here has a peer, which is another target with the same labels that could be read.",
        ),
        (12, "12 targets were compared with others of the same labels: none differs from most of them."),
    ],
)
def test_where_nobody_has_peers_none_is_said_to_be_like_them(with_peers: int, said: str) -> None:
    assert said in shown(FleetFindings(command="outliers", fleet="f", outliers=(), with_peers=with_peers))


def test_what_drops_its_oldest_is_full_by_the_account_alone() -> None:
    full = {"target": "eu", "stream": "S", "when_full": "old", "messages": 1, "bytes": 1, "days": 0.0,
            "days_to_max_bytes": 0.0, "days_to_account_limit": 0.0}  # fmt: skip
    assert "account, refuses then" in shown(FleetFindings(command="history", fleet="f", capacity=(full,)))


def with_counts(*counts: Count) -> FleetFindings:
    return replace(
        fleets.well(), command="report", counts=counts, compared=frozenset(one.target for one in counts), trend=()
    )


def shown(found: FleetFindings) -> str:
    return " ".join(FORMATS["txt"](found).split())


def tiles(found: FleetFindings) -> list[Tile]:
    return [tile for piece in overview(found).pieces if isinstance(piece, Tiles) for tile in piece.tiles]


def test_equal_drift_of_many_targets_is_one_entry() -> None:
    first, *rest = [
        [one.target for one in same]
        for same in equal_drift(fleets.drift_entries())
        if same[0].address == "stream/ORDERS"
    ]
    assert (first, rest) == (["eu-1", "eu-2", "us-1", "us-2"], [])


def test_a_comment_stays_below_the_limit_and_names_what_it_leaves_out() -> None:
    found = fleets.everything()
    many = tuple({**(found.outliers or ())[0], "target": "t" * 400 + str(number)} for number in range(900))
    shown = markdown.render(
        report_of(FleetFindings(command="report", fleet="f", outliers=many, capacity=found.capacity))
    )
    assert len(shown.encode()) <= markdown.LIMIT
    assert "more did not fit into one comment** under Unlike their peers. " in shown
    assert "#### Room" in shown


def parsed(found: FleetFindings) -> Parsed:
    page = Parsed()
    page.feed(FORMATS["html"](found))
    page.close()
    return page


def test_nobody_is_accused_where_no_record_tells_what_was_applied() -> None:
    found = replace(
        fleets.everything(), drift=tuple(one for one in fleets.drift_entries() if one.address == "stream/LEGACY")
    )
    said = shown(replace(found, command="drift", counts=fleets.counts(found.drift or ()), history=None, repairs=None))
    assert "max_msgs unknown 50 no limit (default) differs from the file; no record of an apply" in said
    assert "outside" not in said
    alone = replace(fleets.everything(), drift=found.drift, counts=fleets.counts(found.drift or ()))
    assert "`stream/LEGACY` has no record of an apply and differs from the file on `eu-1`." in FORMATS["md"](alone)


def test_equal_reasons_are_told_once_with_all_whom_they_hold_for() -> None:
    names = [f"x{number}" for number in range(9)]
    dead = tuple(SeenTarget(name=name, error="nobody answers") for name in names)
    strayed = tuple(DriftEntry(target=name, standing="unreachable", error="nobody answers") for name in names)
    found = FleetFindings(command="report", fleet="f", targets=dead, drift=strayed, counts=fleets.counts(strayed))
    said = shown(found)
    assert "? x0, x1, x2 and 6 more unreachable" in said
    assert "! x0, x1, x2 and 6 more could not be read: nobody answers" in said
    assert "x0, x1, x2 and 6 more were not read: nobody answers" in said


def test_of_more_reasons_than_are_named_the_rest_is_counted() -> None:
    dead = tuple(SeenTarget(name=f"x{number}", error=f"port {number} is closed") for number in range(8))
    said = shown(FleetFindings(command="report", fleet="f", targets=dead, drift=()))
    assert "! x4 could not be read: port 4 is closed ! 3 more could not be read." in said


def test_a_target_that_was_read_and_not_compared_is_called_so() -> None:
    said = shown(fleets.everything())
    assert "! us-3 could not be compared: orders.yaml does not exist" in said
    assert "? us-3 uncompared" in said


def test_equal_drift_at_two_places_is_two_entries() -> None:
    one = next(one for one in fleets.drift_entries() if one.address == "stream/ORDERS")
    other = replace(one, target="us-9", place="shops/us.yaml:6")
    assert [[drift.place for drift in same] for same in equal_drift([one, other])] == [[one.place], [other.place]]
