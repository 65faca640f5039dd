"""What may become of a declared group, row by row: nothing to do, changed in place by one write, or refused and by which rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.model.wire.steps import Call
from tests.support.topologies import scene

ELASTIC = "type: elastic, max_members: 4, partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]"
TWO = "type: elastic, max_members: 4, partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}, {filter: k.>}]"
STATIC = "type: static, max_members: 4"
MAPPED = "member_mappings: [{member: a, partitions: [0, 1]}, {member: b, partitions: [2, 3]}]"
STREAM = "streams: {{S: {{subjects: [j.*, k.>, '*.j.*', '*.k.>'], groups: {{g: {{{}}}}}}}}}\n"


class Row(NamedTuple):
    """A group as it is live and as it is declared then, inside its braces."""

    live: str
    desired: str


IN_PLACE = {
    "a member joins": Row(f"{ELASTIC}, members: [a]", f"{ELASTIC}, members: [a, b]"),
    "a member leaves": Row(f"{ELASTIC}, members: [a, b]", f"{ELASTIC}, members: [b]"),
    "members become mappings": Row(f"{ELASTIC}, members: [a, b]", f"{ELASTIC}, {MAPPED}"),
    "mappings become members": Row(f"{ELASTIC}, {MAPPED}", f"{ELASTIC}, members: [a, b]"),
    "a partition goes to another": Row(
        f"{ELASTIC}, {MAPPED}", f"{ELASTIC}, {MAPPED.replace('[0, 1]', '[0]').replace('[2, 3]', '[1, 2, 3]')}"
    ),
    "a first membership": Row(ELASTIC, f"{ELASTIC}, members: [a]"),
}

NOTHING = {
    "members in another order": Row(f"{ELASTIC}, members: [a, b]", f"{ELASTIC}, members: [b, a]"),
    "a member listed twice": Row(f"{ELASTIC}, members: [a, b]", f"{ELASTIC}, members: [a, b, a]"),
    "members nobody declares": Row(f"{ELASTIC}, members: [a, b]", ELASTIC),
    "filters in another order": Row(
        TWO,
        "type: elastic, max_members: 4, partitioning_filters: [{filter: k.>}, {filter: j.*, partitioning_wildcards: [1]}]",
    ),
    "no filters, spelled": Row("type: elastic, max_members: 4", "type: elastic, max_members: 4, partitioning_filters: []"),
    "a limit of 0": Row(ELASTIC, f"{ELASTIC}, max_buffered_msg: 0, max_buffered_bytes: 0"),
    "mappings in another order": Row(
        f"{ELASTIC}, {MAPPED}",
        f"{ELASTIC}, member_mappings: [{{member: b, partitions: [3, 2]}}, {{member: a, partitions: [1, 0]}}]",
    ),
    "static members in another order": Row(f"{STATIC}, members: [a, b]", f"{STATIC}, members: [b, a]"),
    "static filters in another order": Row(
        f"{STATIC}, filters: [j.*, k.>], members: [a]", f"{STATIC}, filters: [k.>, j.*], members: [a]"
    ),
}  # fmt: skip

REFUSED = {
    "static becomes elastic": (Row(f"{STATIC}, members: [a]", f"{ELASTIC}, members: [a]"), "EG102"),
    "elastic becomes static": (Row(f"{ELASTIC}, members: [a]", f"{STATIC}, members: [a]"), "SG102"),
    "more members than partitions": (Row(f"{ELASTIC}, members: [a]", f"{ELASTIC}, members: [a, b, c, d, e]"), "EG543"),
    "a mapping without partitions": (
        Row(f"{ELASTIC}, {MAPPED}", f"{ELASTIC}, {MAPPED[:-1]}, {{member: c, partitions: []}}]"), "EG543"),
    "a mapping that leaves one out": (Row(f"{ELASTIC}, {MAPPED}", f"{ELASTIC}, {MAPPED.replace('2, 3', '2')}"), "EG543"),
    "mappings over several filters": (Row(f"{TWO}, members: [a, b]", f"{TWO}, {MAPPED}"), "EG545"),
    "members and mappings at once": (Row(f"{ELASTIC}, {MAPPED}", f"{ELASTIC}, members: [a], {MAPPED}"), "EG543"),
    "the last member leaves": (Row(f"{ELASTIC}, members: [a]", f"{ELASTIC}, members: []"), "EG304"),
    "a static member joins": (Row(f"{STATIC}, members: [a]", f"{STATIC}, members: [a, b]"), "SG101"),
    "static members become mappings": (Row(f"{STATIC}, members: [a, b]", f"{STATIC}, {MAPPED}"), "SG101"),
    "static partitions": (Row(f"{STATIC}, members: [a]", "type: static, max_members: 5, members: [a]"), "SG101"),
    "static filters": (Row(f"{STATIC}, members: [a]", f"{STATIC}, filters: [j.*], members: [a]"), "SG101"),
    "partitions of an elastic group": (Row(ELASTIC, ELASTIC.replace("s: 4", "s: 5")), "EG101"),
    "its filter": (Row(ELASTIC, ELASTIC.replace("j.*", "k.*")), "EG101"),
    "its wildcards": (
        Row(ELASTIC.replace("j.*", "k.*.*"), ELASTIC.replace("j.*", "k.*.*").replace("[1]", "[2]")), "EG101"),
    "another filter": (Row(ELASTIC, TWO), "EG101"),
    "its buffer": (Row(ELASTIC, f"{ELASTIC}, max_buffered_msg: 10"), "EG101"),
}  # fmt: skip

SPELLINGS = {
    "limits of -1": '"max_buffered_msg":-1,"max_buffered_bytes":-1,"members":["a","b"]',
    "limits of 0": '"max_buffered_msg":0,"members":["a","b"]',
    "members twice and unsorted": '"members":["b","a","b"]',
    "an empty list beside": '"members":["a","b"],"member_mappings":[]',
    "null beside": '"members":["a","b"],"member_mappings":null',
}


def planned(row: Row, folder: Path, **more: Any) -> Plan:
    return scene(folder, STREAM.format(row.desired), STREAM.format(row.live), **more).plan()


def of_group(plan: Plan) -> PlannedChange:
    (change,) = (one for one in plan.changes if one.address.endswith("_group/S/g"))
    return change


@pytest.mark.parametrize("row", IN_PLACE)
def test_a_membership_changes_by_one_write_of_the_record(row: str, tmp_path: Path) -> None:
    plan = planned(IN_PLACE[row], tmp_path)
    assert (of_group(plan).action, of_group(plan).is_blocked) == (Action.UPDATE, False)
    (step,) = plan.steps
    assert (step.call, step.revision) == (Call.ENTRY_PUT, 1)
    record = json.loads(step.value or "")
    assert len(record.keys() & {"members", "member_mappings"}) == 1


@pytest.mark.parametrize("row", NOTHING)
def test_what_means_the_same_is_never_written(row: str, tmp_path: Path) -> None:
    plan = planned(NOTHING[row], tmp_path)
    assert plan.is_empty
    assert plan.steps == ()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_whatever_the_spelling_of_the_record(spelling: str, tmp_path: Path) -> None:
    start = '{"max_members":4,"partitioning_filters":[{"filter":"j.*","partitioning_wildcards":[1]}],'
    record = {"elastic-consumer-groups": {"S.g": f"{start}{SPELLINGS[spelling]}}}"}}
    row = Row(f"{ELASTIC}, members: [a, b]", f"{ELASTIC}, members: [a, b]")
    assert planned(row, tmp_path, raw={"entries": record}).is_empty


@pytest.mark.parametrize("row", REFUSED)
def test_anything_else_is_refused_or_needs_consent_with_its_reason(row: str, tmp_path: Path) -> None:
    case, code = REFUSED[row]
    plan = planned(case, tmp_path)
    (change,) = (one for one in plan.changes if one.is_refused or one.needs_consent)
    blocking = [verdict for verdict in change.verdicts if verdict.blocks]
    assert code in {verdict.code for verdict in blocking}
    assert all(verdict.span is not None and verdict.fix for verdict in blocking)
    assert not [step for step in plan.steps if step.address == change.address]


def test_mappings_that_say_what_members_said_move_nothing(tmp_path: Path) -> None:
    (consequence,) = of_group(planned(IN_PLACE["members become mappings"], tmp_path)).consequences
    assert consequence.quantities["partitions_moved"] == 0
