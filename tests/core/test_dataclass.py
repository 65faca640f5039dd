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

    @make(slots=True)
    class Finished:
        name: str
        parts: list[int] = dataclasses.field(default_factory=list)
        more: int = dataclasses.field(default=1, kw_only=True)
        whole: str = dataclasses.field(init=False)
        pieces: list[str] = dataclasses.field(default_factory=list, init=False)
        known: bool = dataclasses.field(default=True, init=False)

        def __post_init__(self) -> None:
            self.whole = f"{self.name} {self.more}"

    @make
    class OwnInit:
        name: str

        def __init__(self, name: str) -> None:
            self.name = name.upper()

    made = (Frozen, Below, Open, Itself, Empty, Ordered, Bare, OwnEqual, OwnWords, Finished, OwnInit)
    return {one.__name__: one for one in made}


OURS, STANDARD = classes(dataclass), classes(dataclasses.dataclass)
VALUES: dict[str, list[dict[str, Any]]] = {
    "Frozen": [{"name": "a"}, {"name": "b"}, {"name": "a", "about": "x"}, {"name": "a", "parts": (1,)}, {"name": "a", "secret": "s"}],
    "Below": [{"name": "a", "more": 1}, {"name": "a"}, {"name": "a", "about": "x"}],
    "Empty": [{}, {}],
    "Finished": [{"name": "a"}, {"name": "a", "more": 2}, {"name": "a", "parts": [1]}],
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


@pytest.mark.parametrize("values", [("a", [1]), ("a",)])
def test_it_takes_by_position_what_the_standard_one_takes(values: tuple[Any, ...]) -> None:
    assert repr(OURS["Finished"](*values)) == repr(STANDARD["Finished"](*values))


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), (("a", [], 2), {}), (("a",), {"whole": "x"}), (("a",), {"other": 1})]
)
def test_it_refuses_what_the_standard_one_refuses(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for made in (OURS["Finished"], STANDARD["Finished"]):
        with pytest.raises(TypeError, match="__init__"):
            made(*values, **named)


def test_no_two_objects_share_a_default_that_is_made() -> None:
    one, other = OURS["Finished"]("a"), OURS["Finished"]("a")
    one.parts.append(1)
    one.pieces.append("x")
    assert (other.parts, other.pieces) == ([], [])


def test_only_its_init_is_compiled_and_with_the_first_object() -> None:
    """That is what a command's start is faster by."""

    def compiled(made: Any) -> list[str]:
        functions = {name: value for name, value in vars(made).items() if isinstance(value, FunctionType)}
        return [name for name, one in functions.items() if one.__code__.co_filename == "<string>"]

    unused = classes(dataclass)["Frozen"]
    assert compiled(unused) == []
    unused(name="a")
    assert compiled(unused) == ["__init__"]
