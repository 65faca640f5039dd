"""What is promised to topologies that use one another's streams, broken."""

from __future__ import annotations

from tests.sabotage.act import Act, says

END_TO_END = "tests/e2e/test_shared_streams.py"
REVIEWS = ("tests/review/test_dependants.py",)
FILES = ("tests/cli/test_used_streams.py",)

ACTS = (
    Act(
        name="a plan starts from the account as it is, whatever the topologies before it make of that",
        file="reconciler/cli/account/planning.py",
        before="        return imagined.applied(self.planned.snapshot, self.planned.plan) if can_be_applied else self.planned.snapshot",
        after="        return self.planned.snapshot",
        seen_by=("tests/cli/test_many_topologies.py",),
    ),
    Act(
        name="the plans of later topologies start from what a refused one would leave",
        file="reconciler/cli/account/planning.py",
        before="        return imagined.applied(self.planned.snapshot, self.planned.plan) if can_be_applied else self.planned.snapshot",
        after="        return imagined.applied(self.planned.snapshot, self.planned.plan)",
        seen_by=("tests/cli/test_many_topologies.py",),
    ),
    Act(
        name="a stream loses its messages where a plan imagines it updated",
        file="reconciler/testbed/imagined.py",
        before='{**self.streams.get(name, EMPTY), "config": config}',
        after='{**EMPTY, "config": config}',
        seen_by=("tests/convergence/test_fake.py::test_a_stream_keeps_its_messages_until_it_is_recreated",),
    ),
    Act(
        name="a topology whose plan is stopped counts as one that comes later",
        file="reconciler/cli/account/planning.py",
        before="        is_stopped = self.planned.plan.exit_code != exits.FINE",
        after="        is_stopped = False",
        seen_by=("tests/cli/test_many_topologies.py",),
    ),
    Act(
        name="the owner that a file names is not asked of the ledger",
        file="reconciler/kinds/across/used_streams.py",
        before="return None if record[1].topology == owner else",
        after="return None if record[1].topology else",
        seen_by=(says("XX113"),),
    ),
    Act(
        name="an owner is believed where the ledger cannot be read",
        file="reconciler/kinds/across/used_streams.py",
        before="    if not view.ledger_known:",
        after="    if view is None:",
        seen_by=(says("XX113"),),
    ),
    Act(
        name="the record of a reader does not hold the owner that its file names",
        file="reconciler/engine/decide.py",
        before="        uses=change.desired.uses,\n",
        after="",
        seen_by=(f"{END_TO_END}::test_the_ledger_knows_who_uses_a_stream_of_whom",),
    ),
    Act(
        name="a record is not renewed when its file names the owner",
        file="reconciler/model/ledger/records.py",
        before="        or owned.uses != desired.uses\n",
        after="",
        seen_by=(f"{END_TO_END}::test_whoever_named_no_owner_is_recorded_once_it_does",),
    ),
    Act(
        name="a consumer that drains what a moved subject left is said to match nothing",
        file="reconciler/kinds/across/dry_readers.py",
        before='    return bool(view.snapshot.state_of(stream).get("messages"))',
        after="    return not stream",
        seen_by=(says("XX234"),),
    ),
    Act(
        name="only live readers are told when subjects go",
        file="reconciler/kinds/across/dry_readers.py",
        before="(*live, *recorded(stream, view), *as_applied(stream, view))",
        after="(*live, *as_applied(stream, view))",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="readers of what a transform takes of a wider subject are not told",
        file="reconciler/kinds/subjects/subject_part.py",
        before="return SubjectPart(self.subject, tuple(dict.fromkeys([*self.without, both])))",
        after="return self",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="our own reader that loses what a transform takes is not told",
        file="reconciler/kinds/across/dry_readers.py",
        before="    return bool(losing.reader.filters) and any(",
        after="    return not losing.reader and any(",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="our own reader of which one whole filter matches nothing any more is not told",
        file="reconciler/kinds/across/dry_readers.py",
        before="    if any(part.of(mine) for part in losing.parts for mine in failing):",
        after="    if any(part.of(mine) for part in losing.parts for mine in failing[:0]):",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="a reader that follows a transform to its new subject is said to lose messages",
        file="reconciler/kinds/across/dry_readers.py",
        before="if not (is_followed and _is_renamed(part, origin, view))]",
        after="if not (is_followed and not part)]",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="a stream goes without consent of whoever is only recorded",
        file="reconciler/kinds/across/stream_dependants.py",
        before="    if missing := list(recorded(name, view)):",
        after="    if missing := []:",
        seen_by=(says("XX231"),),
    ),
    Act(
        name="what a recorded reader filters by is forgotten",
        file="reconciler/kinds/afterwards/readers.py",
        before="filters = () if reads.subjects == EVERYTHING else reads.subjects",
        after="filters = ()",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="a lowered limit is told to those whose filter matches nothing",
        file="reconciler/kinds/across/used_streams.py",
        before="(stored is None or reader.wants_any(stored))",
        after="True",
        seen_by=(says("XX235"),),
    ),
    Act(
        name="nobody learns that an owner has a new name",
        file="reconciler/kinds/across/used_streams.py",
        before="by_use.setdefault((stream, owner), []).append(address)",
        after="by_use.setdefault((stream, owner), [])",
        seen_by=(says("XX237"),),
    ),
    Act(
        name="whoever takes a stream over in the same run is said to be refused",
        file="reconciler/kinds/across/used_streams.py",
        before="view.owners_named.get(owned.topology, owned.uses)",
        after="owned.uses",
        seen_by=(says("XX237"),),
    ),
    Act(
        name="a plan does not know which owners the files of the same run name",
        file="reconciler/cli/shared/each_topology.py",
        before="unit = replace(unit, owners_named=owners_named(topologies))",
        after="unit = replace(unit)",
        seen_by=(
            "tests/cli/test_many_topologies.py::test_who_takes_a_stream_over_in_the_same_run_is_not_said_to_be_refused",
        ),
    ),
    Act(
        name="what others only have to know needs consent",
        file="reconciler/changes/rule.py",
        before="if others else finding.outcome",
        after="if others or informed else finding.outcome",
        seen_by=(says("XX235"),),
    ),
    Act(
        name="a plan does not say what others read",
        file="reconciler/changes/rule.py",
        before="reading = [_reader_in_words(other, other.owner) for other in known_first if other.owner and other.reads]",
        after="reading = [str(other.address) for other in known_first if other.owner and other.reads]",
        seen_by=(says("XX233"),),
    ),
    Act(
        name="a review does not look at other topologies of its files",
        file="reconciler/journeys/review/review.py",
        before="as_applied([*bases, *pair.readers],",
        after="as_applied([*bases],",
        seen_by=REVIEWS,
    ),
    Act(
        name="a review leaves out what the ledger knows",
        file="reconciler/journeys/review/review.py",
        before="BUCKET: {**pair.recorded, **snapshot",
        after="BUCKET: {**snapshot",
        seen_by=REVIEWS,
    ),
    Act(
        name="a review names who uses a stream of that name from somebody else",
        file="reconciler/journeys/review/other_topologies.py",
        before=" - _of_somebody_else(other, owner)",
        after="",
        seen_by=REVIEWS,
    ),
    Act(
        name="a stream that its owner's files do not declare is used all the same",
        file="reconciler/journeys/plan/files.py",
        before="for problem in used_stream_problems(topology, topologies) if problem.is_error)",
        after="for problem in used_stream_problems(topology, topologies) if not problem.is_error)",
        seen_by=FILES,
    ),
    Act(
        name="who uses the stream of a bucket is applied before its owner",
        file="reconciler/journeys/plan/files.py",
        before="self.streams.isdisjoint(address.name for address in other.elsewhere)",
        after="self.declared.isdisjoint(other.elsewhere)",
        seen_by=FILES,
    ),
)
