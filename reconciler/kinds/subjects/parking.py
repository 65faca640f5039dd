"""A subject for an object that has no other for a moment: nobody publishes to it, and it collides with nothing.

A stream without subjects would capture its own name, and a consumer without a filter everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from reconciler.kinds.fields.passing import PARKED

MOST = 8


def parking_subject(name: str, is_free: Callable[[str], bool]) -> str | None:
    """`_parked.NAME`, or a variation of it if that is taken; None if all are."""
    return next((subject for subject in _candidates(name) if is_free(subject)), None)


def is_parking_subject(subject: str) -> bool:
    """Its first token begins with `_parked`: an apply put it there for a moment."""
    return subject.split(".", maxsplit=1)[0].startswith(PARKED)


def _candidates(name: str) -> Iterator[str]:
    """Wildcards of others may cover a number of tokens, or a first token; hardly all of these."""
    for first, more in product(range(MOST), range(MOST)):
        yield ".".join([PARKED + "_" * first, name, *["_"] * more])
