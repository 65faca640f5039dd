"""What a stream stores after a transform, and what of that is lost, is told exactly, subject by subject."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.afterwards.stored import StoredSubjects
from reconciler.kinds.subjects.subject_part import PartList, SubjectPart, lost_parts
from reconciler.kinds.subjects.subjects import matches

LITERALS = [".".join(tokens) for length in (1, 2, 3) for tokens in product("ab", repeat=length)]
PATTERNS = st.builds(
    lambda tokens, last: ".".join([*tokens, *last]),
    st.lists(st.sampled_from("ab*"), min_size=1, max_size=3),
    st.sampled_from([(), (">",)]),
)


def among(literal: str, part: SubjectPart) -> bool:
    return matches(literal, part.subject) and not any(matches(literal, one) for one in part.without)


def among_any(literal: str, parts: tuple[SubjectPart, ...]) -> bool:
    return any(among(literal, one) for one in parts)


PARTS = st.builds(SubjectPart, PATTERNS, st.lists(PATTERNS, max_size=2).map(tuple))


@given(PARTS, PATTERNS)
def test_what_a_filter_takes_of_a_part(part: SubjectPart, wanted: str) -> None:
    inside, outside = part.of(wanted), part.outside(wanted)
    for literal in LITERALS:
        is_wanted = matches(literal, wanted)
        assert (inside is not None and among(literal, inside)) == (among(literal, part) and is_wanted)
        assert (outside is not None and among(literal, outside)) == (among(literal, part) and not is_wanted)


@given(st.lists(PARTS, max_size=3).map(tuple), st.lists(PARTS, max_size=3).map(tuple))
def test_what_is_stored_no_longer_is_lost_and_nothing_else(
    before: tuple[SubjectPart, ...], after: tuple[SubjectPart, ...]
) -> None:
    gone = tuple(lost_parts(before, PartList(after)))
    for literal in LITERALS:
        assert among_any(literal, gone) == (among_any(literal, before) and not among_any(literal, after)), literal


@given(PATTERNS, PATTERNS, PATTERNS)
def test_a_source_takes_of_what_a_transform_leaves(subject: str, src: str, wanted: str) -> None:
    transform = {"src": f"o.{src}", "dest": "z.>" if src.endswith(">") else "z"}
    origin = {"subjects": [f"o.{subject}"], "subject_transform": transform}
    streams: dict[str, dict[str, Any]] = {
        "O": origin,
        "S": {"sources": [{"name": "O", "filter_subject": f"o.{wanted}"}]},
    }
    stored = StoredSubjects(streams).parts("S")
    assert stored is not None
    for literal in LITERALS:
        is_left = matches(literal, subject) and not matches(literal, src)
        assert among_any(f"o.{literal}", stored) == (is_left and matches(literal, wanted))
