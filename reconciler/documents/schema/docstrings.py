"""The text below each field of a model: what editors show while somebody types.

Pydantic can collect them itself, but reads the source again on every start to do so; only the schema needs them.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from reconciler.model.resource import Spec


class Said(NamedTuple):
    """What stands below a field, in three parts; the last two only where nothing else tells them."""

    about: str
    """What it is, in a sentence or two."""
    left_out: str = ""
    """What leaving it out means: the part after `Left out:`."""
    updates: str = ""
    """What updates may do to it: the part after `Updates:`."""


def described_fields() -> dict[str, dict[str, Said]]:
    """By model and field; a field says what the model it was inherited from says. Of two models of one name, ours counts."""
    models = sorted(_models(Spec), key=lambda model: model.__module__.startswith("reconciler."))
    return {model.__name__: _inherited(model) for model in models}


def _models(base: type[Spec]) -> list[type[Spec]]:
    return [base, *(model for below in base.__subclasses__() for model in _models(below))]


def _inherited(model: type[Spec]) -> dict[str, Said]:
    said: dict[str, Said] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Spec):
            said |= _own(base)
    return said


@cache
def _own(model: type[Spec]) -> dict[str, Said]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    return dict(filter(None, (_documented(field, below) for field, below in pairwise(definition.body))))


def _documented(field: ast.stmt, below: ast.stmt) -> tuple[str, Said] | None:
    match field, below:
        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
            return _key(name), said(" ".join(text.split()))
    return None


def _key(name: str) -> str:
    """`from` is a word of Python's own: the field is called `from_`."""
    return name.removesuffix("_")


def said(text: str) -> Said:
    """`What it is. Left out: what stands for it. Updates: what they may do.`, in its parts."""
    about, *parts = re.split(r" (?=Left out: |Updates: )", text)
    found = dict(part.split(": ", 1) for part in parts)
    return Said(about, *(found.get(word, "").removesuffix(".") for word in ("Left out", "Updates")))
