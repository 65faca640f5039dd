"""Our `dataclass` is the standard one that starts faster: whatever code asks of a class, both answer alike."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from reconciler.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """At the top of a module, so that it can be pickled."""

    name: str
    parts: tuple[str, ...] = ()
    about: str = dataclasses.field(default="", compare=False)


def classes(make: Callable[..., Any]) -> dict[str, Any]:
    """The same classes, made by one `dataclass` or the other."""

    @make(frozen=True, slots=True, kw_only=True)
    class Frozen:
        name: str
        parts: tuple[int, ...] = ()
        about: str = dataclasses.field(default="", compare=False)
        secret: str = dataclasses.field(default="", repr=False)

    @make(frozen=True, slots=True)
    class Below(Frozen):
        more: int = 0

    @make(slots=True)
    class Open:
        name: str

    @make(frozen=True, slots=True, eq=False)
    class Itself:
        name: str

    @make(frozen=True, slots=True)
    class Empty:
        pass

    @make(frozen=True, slots=True, order=True)
    class Ordered:
        name: str

    @make
    class Bare:
        name: str

    @make(frozen=True)
    class OwnEqual:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, OwnEqual)

        __hash__ = object.__hash__

    @make(frozen=True)
    class OwnWords:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    made = (Frozen, Below, Open, Itself, Empty, Ordered, Bare, OwnEqual, OwnWords)
    return {one.__name__: one for one in made}


OURS, STANDARD = classes(dataclass), classes(dataclasses.dataclass)
VALUES: dict[str, list[dict[str, Any]]] = {
    "Frozen": [{"name": "a"}, {"name": "b"}, {"name": "a", "about": "x"}, {"name": "a", "parts": (1,)}, {"name": "a", "secret": "s"}],
    "Below": [{"name": "a", "more": 1}, {"name": "a"}, {"name": "a", "about": "x"}],
    "Empty": [{}, {}],
}  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_it_compares_hashes_and_prints_like_the_standard_one(name: str) -> None:
    def told(made: Any) -> object:
        every = [made(**values) for values in VALUES.get(name, [{"name": "a"}, {"name": "a"}, {"name": "b"}])]
        equal = [[one == other for other in every] for one in every]
        hashes = [hash(one) for one in every] if made.__hash__ else None
        alike = [[hashes[i] == hashes[j] for j in range(len(every))] for i in range(len(every))] if hashes else None
        return equal, alike, [repr(one) for one in every if made.__repr__ is not object.__repr__], made.__match_args__

    assert told(OURS[name]) == told(STANDARD[name])


def test_objects_of_two_classes_are_never_equal() -> None:
    assert OURS["Frozen"](name="a") != OURS["Below"](name="a")


def test_it_is_replaced_copied_and_pickled() -> None:
    one = Kept(name="a", parts=("x",), about="y")
    assert dataclasses.replace(one, name="b") == Kept(name="b", parts=("x",))
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert (again, again.about, hash(again)) == (one, "y", hash(one))
    assert [field.name for field in dataclasses.fields(one)] == ["name", "parts", "about"]
    assert dataclasses.asdict(one) == {"name": "a", "parts": ("x",), "about": "y"}


def test_only_its_init_is_compiled_for_each_class() -> None:
    """That is what a command's start is faster by."""
    functions = {name: value for name, value in vars(OURS["Frozen"]).items() if isinstance(value, FunctionType)}
    assert [name for name, one in functions.items() if one.__code__.co_filename == "<string>"] == ["__init__"]
