"""Random exchanges: subjects among streams, filters among the consumers of a work queue; any legal state into any other."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reconciler.core.resource import Address
from tests.convergence.drawing import Wishes

WHOLE = ("x.a", "x.b.>", "x.c.*", "x.d", "x.e.*.f", "x.g")
"""None of them collides with another; `x` stands for the case's own token."""
SPLIT = ("x.a", "x.b.*", "x.b.1.>", "x.c.1", "x.c.2", "x.e.*.f")


@st.composite
def dealt(draw: st.DrawFn, players: int, cards: tuple[str, ...]) -> list[list[str]]:
    """All cards dealt to so many players, each of whom has at least one."""
    shuffled = draw(st.permutations(cards))
    cuts = sorted(draw(st.sets(st.integers(1, len(cards) - 1), min_size=players - 1, max_size=players - 1)))
    return [sorted(shuffled[a:b]) for a, b in zip([0, *cuts], [*cuts, len(cards)], strict=True)]


def _hands(players: int, number: int) -> st.SearchStrategy[list[list[str]]]:
    decks = [tuple(subject.replace("x", f"x{number}", 1) for subject in deck) for deck in (WHOLE, SPLIT)]
    return st.sampled_from(decks).flatmap(lambda cards: dealt(players, cards))


@st.composite
def subject_exchanges(draw: st.DrawFn, number: int) -> tuple[Wishes, Wishes]:
    """Two to five streams before and after; some come, some go."""
    players = draw(st.integers(2, 5))
    first, then = draw(_hands(players, number)), draw(_hands(players, number))
    extra = draw(st.integers(0, 1))  # one stream comes and another goes
    return _streams(number, first, 0), _streams(number, then, extra)


def _streams(number: int, hands: list[list[str]], start: int) -> Wishes:
    return {
        Address.of("stream", f"s{number}x{i}"): {"subjects": hand, "storage": "memory"}
        for i, hand in enumerate(hands, start)
    }


@st.composite
def filter_exchanges(draw: st.DrawFn, number: int) -> tuple[Wishes, Wishes]:
    """Two to five consumers of one work queue before and after; some come, some go."""
    players = draw(st.integers(2, 5))
    first, then = draw(_hands(players, number)), draw(_hands(players, number))
    extra = draw(st.integers(0, 1))
    return _queue(number, first, 0), _queue(number, then, extra)


def _queue(number: int, hands: list[list[str]], start: int) -> Wishes:
    stream = f"s{number}q"
    wishes: dict[Address, Any] = {
        Address.of("stream", stream): {"subjects": [f"x{number}.>"], "storage": "memory", "retention": "workqueue"}
    }
    for i, hand in enumerate(hands, start):
        said = {"filter_subject": hand[0]} if len(hand) == 1 else {"filter_subjects": hand}
        wishes[Address("consumer", (stream, f"c{i}"))] = {"ack_policy": "explicit", **said}
    return wishes
