"""Subjects that are rewritten on their way: transforms of a stream and of its sources, and republishing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.verdict import Finding, Reaction
from reconciler.kinds.fields.known import V2_12
from reconciler.kinds.stream_config.config_checks import Sent, config_check, objection, sources_of
from reconciler.kinds.stream_config.mirrors_and_sources import reaction_before_2_12
from reconciler.kinds.subjects.subject_lists import SubjectList
from reconciler.kinds.subjects.subjects import is_subset, is_valid, overlap
from reconciler.kinds.subjects.transforms import Problem, worst_problem
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

HELP = "write tokens, or whole-token functions such as {{wildcard(1)}} and {{partition(8,1)}}, counting from 1"
REFUSALS = (10155, 10156, 10145, 10146, 10147, 10151, 10154, 10152, 10049, 10051, 10069)


@config_check(549, "bad-transform", err_code=REFUSALS)
def bad_transform(sent: Sent) -> Iterator[Finding]:
    """A subject transform of the stream or of a source is invalid: its `src` is not a subject, or its `dest` cannot be
    made from it, or it takes the same subjects as another transform of its source.

    Servers refuse it. They accept numbers below 1, although these mean nothing: 2.11 crashes on `partition(0,…)` at the
    first message.

    Instead: functions stand for whole tokens and count the `*` of `src` from 1; `>` ends both `src` and `dest`, or
    neither.
    """
    if transform := sent.get("subject_transform"):
        yield from _check_transform("subject_transform", transform, sent.version)
    for path, source in sources_of(sent.config):
        transforms = source.get("subject_transforms", ())
        for index, transform in enumerate(transforms):
            yield from _check_transform(f"{path}.subject_transforms[{index}]", transform, sent.version)
        yield from _check_overlaps(sent, path, source, transforms)


def _check_transform(path: str, transform: Json, version: Version) -> Iterator[Finding]:
    problem = worst_problem(transform.get("src", ""), transform.get("dest", ""), version)
    if problem:
        yield _objection_to_transform(path, problem, version)


def _objection_to_transform(path: str, problem: Problem, version: Version) -> Finding:
    taken = Reaction.HARMS if version < V2_12 else Reaction.DOES
    reaction = None if problem.refused else taken
    return objection(path, problem.words, HELP, reaction=reaction, can_stand=not problem.refused)


def _check_overlaps(sent: Sent, path: str, source: Json, transforms: Sequence[Json]) -> Iterator[Finding]:
    """No two transforms of a mirror may overlap. No transform of a source may lie inside another."""
    meets, earlier = overlap if path == "mirror" else _lies_one_in_the_other, SubjectList()
    for index, transform in enumerate(transforms):
        mine = transform.get("src", "")
        if mine and not is_valid(mine):
            continue
        theirs = next((other for other in earlier.near(mine) if meets(mine, other)), None)
        if theirs is not None:
            yield objection(
                f"{path}.subject_transforms[{index}]",
                f"`{mine or '>'}` overlaps with `{theirs or '>'}` of the same {'mirror' if path == 'mirror' else 'source'}",
                "keep the wider one of the two, or make them exclude each other",
                reaction=reaction_before_2_12(sent, path, source),
            )
        earlier.extend([mine])


def _lies_one_in_the_other(mine: str, theirs: str) -> bool:
    return _lies_inside(mine, theirs) or _lies_inside(theirs, mine)


def _lies_inside(inner: str, outer: str) -> bool:
    """As servers check it: nothing lies inside an empty subject, not even itself."""
    return bool(outer) and is_subset(inner, outer)


@config_check(550, "bad-republish", err_code=10052)
def bad_republish(sent: Sent) -> Iterator[Finding]:
    """Republishing has no destination, leads back into the stream, or cannot be made from its source.

    Servers refuse the last two. They accept republishing without `dest`: a new stream then republishes nothing, and an
    update republishes each message to its own subject, so that the stream stores its own copies forever.

    Instead: a `dest` outside the stream's subjects, with `>` at the end if `src` has it.
    """
    republish = sent.get("republish")
    if not republish:
        return
    dest = republish.get("dest", "")
    if not dest:
        yield objection(
            "republish.dest",
            "republish has no dest; servers accept that, and "
            + ("republish nothing" if sent.is_new else "store every message again and again"),
            "write where to republish to, outside this stream's subjects",
            reaction=Reaction.INERT if sent.is_new else Reaction.HARMS,
        )
        return
    stored = (subject for subject in sent.config.get("subjects", ()) if is_valid(subject))
    cycle = next((subject for subject in stored if overlap(dest, subject)), None)
    if cycle is not None:
        yield objection(
            "republish.dest",
            f"`{dest}` leads back into this stream, which stores `{cycle}`",
            "republish to subjects this stream does not store",
        )
    if problem := worst_problem(republish.get("src", ""), dest, sent.version, republishing=True):
        yield _objection_to_transform("republish", problem, sent.version)


CHECKS = (bad_transform, bad_republish)
