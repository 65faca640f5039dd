"""Turns pydantic's errors into findings: one for each, exactly at the scalar or key that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from reconciler.documents.parse.nodes import (
    Mapping,
    Node,
    Scalar,
    did_you_mean,
    node_to_show,
    phrase,
    start_of_block,
    walk_path,
)
from reconciler.documents.parse.nodes import Sequence as ListNode
from reconciler.documents.parse.plain_values import NodeProblem, Plain
from reconciler.documents.parse.shape import ANYTHING, Shape, shape_of_spec
from reconciler.model.resource import Spec
from reconciler.model.spelling import meant_choice
from reconciler.model.units import WRITTEN

Error = Any
"""An entry of `ValidationError.errors()`."""
_S = TypeVar("_S", bound=Spec)


def read_spec(
    spec: type[_S],
    node: Node,
    key: Scalar | None = None,
    path: str = "",
    known: Iterable[str] = (),
    *,
    read: Mapping | None = None,
) -> tuple[_S | None, list[NodeProblem]]:
    """Read a node as this spec: return it, None where validation fails, and all that is wrong. `read` are the keys that
    count, if not all of them; `known` are others that may stand beside the spec's own."""
    plain, shape = Plain(), shape_of_spec(spec)
    values = plain.value(read or node, shape, path, key)
    if not isinstance(node, Mapping):
        return None, plain.findings
    try:
        return spec.model_validate(values, context=WRITTEN), plain.findings
    except ValidationError as error:
        findings = findings_of(error, node, key or start_of_block(node), shape, known=known, path=path)
        return None, [*plain.findings, *not_yet_reported(findings, plain.findings)]


def findings_of(
    error: ValidationError, root: Mapping, name: Node, shape: Shape, *, known: Iterable[str] = (), path: str = ""
) -> list[NodeProblem]:
    """Explain the errors. `name` is where a problem of the whole is shown; `known` are keys that stand beside the
    spec's own."""
    start = _Start(root, name, shape, tuple(known), path)
    errors = error.errors(include_url=False, include_input=False)
    return [_finding_for(each, start) for each in _best_of_each_union(errors, start)]


def not_yet_reported(findings: Iterable[NodeProblem], earlier: Iterable[NodeProblem]) -> list[NodeProblem]:
    """Leave out findings about a value that already has one from reading it."""
    seen = {id(finding.node) for finding in earlier}
    return [finding for finding in findings if id(finding.node) not in seen or finding.number in _ABOUT_KEYS]


class _Start(NamedTuple):
    """Where the locations of errors begin."""

    root: Mapping
    name: Node
    shape: Shape
    known: tuple[str, ...]
    path: str


class _Place:
    """Where an error's location leads: the node, the key above it, its path, and the expectation there."""

    def __init__(self, loc: Iterable[str | int], start: _Start) -> None:
        self.node: Node = start.root
        self.key: Node | None = start.name
        self.path = start.path
        self.shape = start.shape
        self.is_root = True
        self.left: Node | None = None
        """Where the location first leaves the file's own keys: a union, whose `member` it then names."""
        self.member: str | int = ""
        for part in loc:
            self._step(part)

    def _step(self, part: str | int) -> None:
        if isinstance(self.node, Mapping) and part in self.node.entries:
            self.key, self.node = self.node.entries[str(part)]
            self.path = f"{self.path}.{part}" if self.path else str(part)
            self.shape = self.shape.below(str(part)) or ANYTHING
            self.is_root = False
        elif isinstance(self.node, ListNode) and isinstance(part, int) and part < len(self.node.items):
            self.key, self.node = None, self.node.items[part]
            self.path = f"{self.path}[{part}]"
            self.shape = self.shape.items or ANYTHING
            self.is_root = False
        elif self.left is None:
            self.left, self.member = self.node, part

    def node_to_point_at(self) -> Node:
        return self.key if self.is_root and self.key else node_to_show(self.key, self.node)


def _best_of_each_union(errors: Sequence[Error], start: _Start) -> list[Error]:
    """Keep one error per union: each of its members complains about the same value, and the member that understood most
    of it explains best."""
    chosen: list[Error] = []
    unions: dict[int, dict[str | int, list[Error]]] = {}
    for error in errors:
        loc = error["loc"][:-1] if error["type"] == "missing" else error["loc"]
        place = _Place(loc, start)
        if place.left is None:
            chosen.append(error)
        else:
            unions.setdefault(id(place.left), {}).setdefault(place.member, []).append(error)
    for members in unions.values():
        best = min(members.values(), key=_rank_of)
        chosen.extend(best)
    return chosen


def _rank_of(errors: list[Error]) -> tuple[int, int]:
    """Rank wrongs: deep inside is good, because the rest was understood; then few are good."""
    return -max(len(error["loc"]) for error in errors), len(errors)


def _finding_for(error: Error, start: _Start) -> NodeProblem:
    kind, loc = error["type"], tuple(error["loc"])
    if kind == "missing":
        place = _Place(loc[:-1], start)
        return NodeProblem(
            place.node_to_point_at(), "503", "missing-key", phrase(place.path, f": missing key `{loc[-1]}`")
        )
    place = _Place(loc, start)
    if kind == "extra_forbidden":
        return _unknown_key(place, _Place(loc[:-1], start), str(loc[-1]), start)
    if (path_below := error.get("ctx", {}).get("at")) is not None:
        place = _go_below(place, str(path_below))
    number, name = _CODES.get(kind, ("502", "wrong-value"))
    return NodeProblem(place.node_to_point_at(), number, name, phrase(place.path, _explain_value(error, place)))


def _unknown_key(place: _Place, around: _Place, key: str, start: _Start) -> NodeProblem:
    known_keys = [*around.shape.properties, *(start.known if around.is_root else ())]
    entries = around.node.entries if isinstance(around.node, Mapping) else {}
    keys_of_file = {name for name, (written, _) in entries.items() if place.key and written.file == place.key.file}
    near = meant_choice(key, known_keys)
    guess = f"; `{near}` is there already" if near in keys_of_file else did_you_mean(key, known_keys)
    return NodeProblem(
        place.key or place.node, "501", "unknown-key", phrase(around.path, f": unknown key `{key}`{guess}")
    )


def _go_below(place: _Place, path: str) -> _Place:
    """Go to the field that a check of several fields names: `ctx={"at": "sources[1].name"}`."""
    for key, node in walk_path(path, place.node):
        place.node, place.key, place.is_root = node, key, False
    place.path = f"{place.path}.{path}" if place.path else path
    return place


def _explain_value(error: Error, place: _Place) -> str:
    written_text = place.node.text if isinstance(place.node, Scalar) else None
    speak = _WORDS.get(error["type"])
    if speak:
        return speak(error.get("ctx", {}), "it" if written_text is None else f"`{written_text}`")
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    checked_value = error.get("ctx", {}).get("value")
    if written_text is not None and checked_value is not None:
        message = message.replace(f"`{checked_value}`", f"`{written_text}`", 1)
    return message if message.startswith("`") else f": {message[:1].lower()}{message[1:]}"


_ABOUT_KEYS = ("501", "503")
_CODES = {
    "missing_key": ("503", "missing-key"), "wrong_shape": ("504", "wrong-shape"), "duplicate": ("505", "duplicate"),
    "bad_name": ("506", "bad-name"), "unknown_key": ("501", "unknown-key"),
}  # fmt: skip

Words = Callable[[dict[str, Any], str], str]
_A_DATE: Words = lambda _ctx, it: f"{it} is not a date; write for example 2026-12-31"  # noqa: E731
_WORDS: dict[str, Words] = {
    "greater_than": lambda ctx, it: f"{it} is too small; write more than {ctx['gt']}",
    "greater_than_equal": lambda ctx, it: f"{it} is too small; write at least {ctx['ge']}",
    "less_than": lambda ctx, it: f"{it} is too large; write less than {ctx['lt']}",
    "less_than_equal": lambda ctx, it: f"{it} is too large; write at most {ctx['le']}",
    "string_too_short": lambda ctx, it: (
        "is empty" if it == "``" else f"{it} is shorter than {ctx['min_length']} characters"
    ),
    "string_too_long": lambda ctx, it: f"{it} is longer than {ctx['max_length']} characters",
    "string_pattern_mismatch": lambda ctx, it: f"{it} does not look like `{ctx['pattern']}`",
    "too_short": lambda ctx, _it: f"has {ctx['actual_length']} entries; write at least {ctx['min_length']}",
    "too_long": lambda ctx, _it: f"has {ctx['actual_length']} entries; write at most {ctx['max_length']}",
    "date_parsing": _A_DATE,
    "date_type": _A_DATE,
    "date_from_datetime_parsing": _A_DATE,
    "date_from_datetime_inexact": _A_DATE,
    "bool_parsing": lambda _ctx, it: f"{it} is not a boolean; write true or false",
    "bool_type": lambda _ctx, it: f"{it} is not a boolean; write true or false",
    "string_type": lambda _ctx, it: f"{it} is not text; put it in quotes",
}  # fmt: skip
