"""Random exchanges: subjects among streams, filters among the consumers of one; any legal state into any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from reconciler.model.resource import Address
from tests.convergence.drawing import Wishes

WHOLE = ("x.a", "x.b.>", "x.c.*", "x.d", "x.e.*.f", "x.g")
"""None of them collides with another; `x` stands for the case's own token."""
SPLIT = ("x.a", "x.b.*", "x.b.1.>", "x.c.1", "x.c.2", "x.e.*.f")
PUBLISHED = ("x.a", "x.b.1", "x.b.1.2", "x.b.2.2", "x.c.1", "x.c.3", "x.d", "x.e.1.f", "x.g")


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
def copy_exchanges(draw: st.DrawFn, number: int) -> tuple[Wishes, Wishes]:
    """Two to five streams that copy each other in one order before and in another one after, and exchange subjects."""
    players = draw(st.integers(2, 5))
    return draw(_copying(number, players)), draw(_copying(number, players))


@st.composite
def _copying(draw: st.DrawFn, number: int, players: int) -> Wishes:
    """Whoever copies comes later in some order, so that there is no cycle."""
    wishes = _streams(number, draw(_hands(players, number)), 0)
    order = draw(st.permutations(sorted(wishes)))
    for place, address in enumerate(order[1:], 1):
        if origins := draw(st.sets(st.sampled_from(order[:place]), max_size=2)):
            wishes[address]["sources"] = [{"name": one.name} for one in sorted(origins)]
            if draw(st.booleans()):
                del wishes[address]["subjects"]
    return wishes


@st.composite
def filter_exchanges(
    draw: st.DrawFn, number: int, retentions: Sequence[tuple[str, str]] = (("workqueue", "workqueue"),)
) -> tuple[Wishes, Wishes]:
    """Two to five consumers of one stream before and after; some come, some go, some are made anew."""
    players = draw(st.integers(2, 5))
    first, then = draw(_hands(players, number)), draw(_hands(players, number))
    waiting = draw(st.lists(st.sampled_from([512, 64]), min_size=players, max_size=players))
    extra = draw(st.integers(0, 1))
    was, becomes = draw(st.sampled_from(retentions))
    return _consumers(number, first, 0, was, [512] * players), _consumers(number, then, extra, becomes, waiting)


def interest_exchanges(number: int) -> st.SearchStrategy[tuple[Wishes, Wishes]]:
    """The stream drops what nobody wants all the time, or begins to, or ceases to."""
    return filter_exchanges(number, (("interest", "interest"), ("limits", "interest"), ("interest", "limits")))


def _consumers(number: int, hands: list[list[str]], start: int, retention: str, waiting: list[int]) -> Wishes:
    stream = f"s{number}q"
    wishes: dict[Address, Any] = {
        Address.of("stream", stream): {"subjects": [f"x{number}.>"], "storage": "memory", "retention": retention}
    }
    for i, (hand, most) in enumerate(zip(hands, waiting, strict=True), start):
        said = {"filter_subject": hand[0]} if len(hand) == 1 else {"filter_subjects": hand}
        wishes[Address("consumer", (stream, f"c{i}"))] = {"ack_policy": "explicit", "max_waiting": most, **said}
    return wishes
