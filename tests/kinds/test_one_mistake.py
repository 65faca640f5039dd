"""One mistake in a file is one error: what other rules would say about an impossible value is not said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.changes.verdict import Outcome
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.journeys.plan.validate import imagined_target, validate
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import SUPPORTED

STREAM = """\
  S{i}:
    subjects: [s{i}.a.>, s{i}.b.*.*]
    max_age: 7d
    consumers:
      plain: {{filter_subject: s{i}.a.>, ack_wait: 30s}}
      two: {{filter_subjects: [s{i}.a.x, s{i}.b.x.*]}}
    groups:
      g:
        type: elastic
        max_members: 4
        partitioning_filters: [{{filter: s{i}.b.*.*, partitioning_wildcards: [1]}}]
        members: [a, b]
"""
AROUND = """\
  NEXT: {sources: [{name: S0}, {name: S1, filter_subject: s1.a.>}]}
  JOBS:
    subjects: [jobs.>]
    retention: workqueue
    consumers:
      one: {filter_subject: jobs.a, ack_policy: explicit}
      other: {filter_subject: jobs.b, ack_policy: explicit}
kv_buckets: {CONFIG: {history: 5, ttl: 30d}}
object_stores: {FILES: {ttl: 30d}}
"""


RULES = {rule.code: rule for rule in REGISTRY.rules()}


class Mistake(NamedTuple):
    """What stands in the file of stream `{i}`, and what somebody wrote instead."""

    code: str
    right: str
    wrong: str


SUBJECT, FILTER, AMONG = "subjects: [s{i}.a.>,", "filter_subject: s{i}.a.>", "filter_subjects: [s{i}.a.x,"
PARTS, AGE, GROUP = "filter: s{i}.b.*.*", "max_age: 7d", "      g:"
TRANSFORM = "subject_transform: {{src: s{i}.b.*.*, dest: '%s'}}"
MISTAKES = {
    **{
        f"subject {subject}": Mistake("ST542", SUBJECT, f"subjects: ['{subject}',")
        for subject in (">.x", "a..b", "", ".s{i}", "s{i}.", "s{i}.>.x", "s{i}.a b", "*.>.x", ">.")
    },
    "subject of the server": Mistake("ST548", SUBJECT, "subjects: [$JS.>,"),
    "subject of everything": Mistake("ST548", SUBJECT, "subjects: ['>',"),
    "filter": Mistake("CO542", FILTER, "filter_subject: s{i}..a"),
    "filter among others": Mistake("CO542", AMONG, "filter_subjects: ['>.x',"),
    "filter of a group": Mistake("EG544", PARTS, "filter: s{i}..b.*"),
    "filter of a group without end": Mistake("EG544", PARTS, "filter: '>.b'"),
    "wildcard of a group": Mistake("EG544", "partitioning_wildcards: [1]", "partitioning_wildcards: [9]"),
    "type": Mistake("ST502", AGE, "max_msgs: many"),
    "shape": Mistake("ST504", AGE, "placement: here"),
    "key": Mistake("ST501", AGE, "max_agee: 7d"),
    "choice": Mistake("ST502", AGE, "retention: workq"),
    "duration": Mistake("ST502", AGE, "max_age: 7 fortnights"),
    "duration below zero": Mistake("ST544", AGE, "max_age: -5"),
    "duration too short": Mistake("ST544", AGE, "max_age: 3ms"),
    "duration of a consumer": Mistake("CO502", "ack_wait: 30s", "ack_wait: soon"),
    "number": Mistake("ST552", AGE, "num_replicas: 9"),
    "name with a dot": Mistake("XX542", "  S{i}:", "  S{i}.x:"),
    "name with a space": Mistake("XX542", "  S{i}:", "  S {i}:"),
    "name with a wildcard": Mistake("XX542", "  S{i}:", "  'S{i}*':"),
    "name that is too long": Mistake("XX542", "  S{i}:", f"  {'S' * 300}:"),
    "name with a slash": Mistake("ST506", "  S{i}:", "  S{i}/x:"),
    "name that is a boolean": Mistake("ST506", "  S{i}:", "  on:"),
    "name of a consumer": Mistake("XX542", "plain:", "pl.ain:"),
    "name of a group": Mistake("EG542", GROUP, "      g.x:"),
    "name of a member": Mistake("EG542", "members: [a, b]", "members: [a, b.c]"),
    "type of a group": Mistake("XX502", "type: elastic", "type: elastik"),
    "members of a group": Mistake("EG543", "max_members: 4", "max_members: 0"),
    **{
        f"transform to {dest}": Mistake("ST549", AGE, TRANSFORM % dest.replace("{", "{{").replace("}", "}}"))
        for dest in ("x..y", "x.{{wildcard(7)}}", "x.{{nope(1)}}", "x.*", "x.>")
    },
    "transform of no subject": Mistake("ST549", AGE, "subject_transform: {{src: s{i}..b, dest: z}}"),
    "republished to no subject": Mistake("ST550", AGE, "republish: {{src: s{i}.b.*.*, dest: x..y}}"),
    "republished from no subject": Mistake("ST550", AGE, "republish: {{src: a..b, dest: again.{i}}}"),
    "origin": Mistake("ST547", AGE, "sources: [{{name: N.x}}]"),
    "policy without its start": Mistake("CO547", "ack_wait: 30s", "deliver_policy: by_start_time"),
    "deliver subject": Mistake("CO563", "ack_wait: 30s", "deliver_subject: x..y"),
}
AT_BOTH_PLACES = {
    "overlap with another stream": "either of the two streams may be the wrong one, so that the error stands at both",
}
FOR_EACH = {
    "a work queue of what was read as a log": "every consumer has to say how it acknowledges, each at its own place",
}
EXCEPTIONS = {
    "overlap with another stream": Mistake("XX201", SUBJECT, "subjects: [s{i}.a.>, s2.a.x,"),
    "a work queue of what was read as a log": Mistake("CO581", AGE, "retention: workqueue"),
}


def written(streams: int, mistakes: dict[int, Mistake]) -> str:
    """A topology with these mistakes, by the number of the stream they are in."""
    parts = ["reconciler: 1\ntopology: t\nstreams:\n"]
    for i in range(streams):
        text = STREAM.format(i=i)
        if i in mistakes:
            right, wrong = (one.format(i=i) for one in mistakes[i][1:])
            assert right in text
            text = text.replace(right, wrong)
        parts.append(text)
    return "".join((*parts, AROUND))


def errors(text: str, folder: Path) -> tuple[list[str], list[str]]:
    """Codes of what `validate` says in both severities."""
    file = folder / "t.yaml"
    file.write_text(text, encoding="utf-8")
    _, said = validate([file])
    return codes(said, are_errors=True), codes(said, are_errors=False)


def codes(said: Sequence[Diagnostic], *, are_errors: bool) -> list[str]:
    return sorted(one.code for one in said if one.is_error is are_errors)


def refusals(text: str, folder: Path) -> list[str]:
    """Codes of what a plan for an empty account refuses, or why it is not made."""
    file = folder / "t.yaml"
    file.write_text(text, encoding="utf-8")
    topology, said = validate([file])
    if topology is None:
        return codes(said, are_errors=True)
    made = asyncio.run(
        plan_from_snapshot(topology, Snapshot(target=imagined_target(topology, SUPPORTED[-1])), None, RunOptions())
    )
    verdicts = [verdict for change in made.plan.changes for verdict in change.verdicts]
    return sorted(one.code for one in verdicts if one.outcome is Outcome.REFUSED)


def test_the_file_without_a_mistake_has_no_error(tmp_path: Path) -> None:
    assert errors(written(4, {}), tmp_path) == ([], [])
    assert refusals(written(4, {}), tmp_path) == []


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_one_mistake_is_one_error_wherever_it_stands(mistake: Mistake, tmp_path: Path) -> None:
    for place in range(4):
        text = written(4, {place: mistake})
        assert errors(text, tmp_path) == ([mistake.code], []), text
        assert refusals(text, tmp_path) == [mistake.code], text


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_what_is_wrong_at_two_places_is_said_at_both(name: str, tmp_path: Path) -> None:
    assert name in {**AT_BOTH_PLACES, **FOR_EACH}
    assert errors(written(4, {1: EXCEPTIONS[name]}), tmp_path)[0] == [EXCEPTIONS[name].code] * 2


def test_every_mistake_is_found_beside_others(tmp_path: Path) -> None:
    """Until all of the files can be read, nothing is judged that takes several resources to see."""

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.integers(0, 5), st.sampled_from(sorted(MISTAKES)), min_size=2, max_size=4))
    def check(planted: dict[int, str]) -> None:
        text = written(6, {place: MISTAKES[name] for place, name in planted.items()})
        expected = sorted(MISTAKES[name].code for name in planted.values())
        if not all(code in RULES for code in expected):
            expected = [code for code in expected if code not in RULES or "neighbours" not in RULES[code].needs]
        assert errors(text, tmp_path)[0] == expected, text

    check()


def test_what_else_is_wrong_with_the_neighbours_of_a_mistake_is_still_told(tmp_path: Path) -> None:
    text = written(4, {1: MISTAKES["subject >.x"], 2: EXCEPTIONS["overlap with another stream"]})
    text = text.replace("subjects: [s3.a.>,", "subjects: [s3.a.>, s0.a.x,").replace(
        "{filter_subject: jobs.a, ack_policy: explicit}", "{filter_subject: jobs.b, ack_policy: explicit}"
    )
    found, warned = errors(text, tmp_path)
    assert found == ["ST542", "ST543", "XX201", "XX201"]
    assert warned == ["CO582", "CO582"]


def test_a_stream_with_a_mistake_is_told_the_rest_of_what_is_wrong_with_it(tmp_path: Path) -> None:
    text = written(4, {1: MISTAKES["subject a..b"]}).replace("s1.b.*.*]", "s1.b.*.*, s1.b.x.y, s0.a.x]")
    text = text.replace("filter_subject: s2.a.>", "filter_subject: q.>")
    found, warned = errors(text, tmp_path)
    assert found == ["ST542", "ST543", "XX201", "XX201"]
    assert warned == ["XX234"]


def test_what_is_moved_to_a_stream_with_a_mistake_arrives_all_the_same(tmp_path: Path) -> None:
    text = written(4, {1: MISTAKES["type"]}) + "moved: [{from: stream/OLD, to: stream/S1}]\n"
    assert errors(text, tmp_path)[0] == ["ST502"]
