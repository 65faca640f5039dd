"""Collects the sentence below each field of a model, which editors show while somebody types.

Pydantic can collect them itself, but reads the source again on every start to do so; only the schema needs them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise

from reconciler.model.resource import Spec


def described_fields() -> dict[str, dict[str, str]]:
    """Return the sentences by model and field; an inherited field has the sentence of the model it comes from."""
    return {model.__name__: _inherited(model) for model in _models(Spec)}


def _models(base: type[Spec]) -> list[type[Spec]]:
    return [base, *(model for below in base.__subclasses__() for model in _models(below))]


def _inherited(model: type[Spec]) -> dict[str, str]:
    said: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Spec):
            said |= _own(base)
    return said


def _own(model: type[Spec]) -> dict[str, str]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    return dict(filter(None, (_sentence(field, below) for field, below in pairwise(definition.body))))


def _sentence(field: ast.stmt, below: ast.stmt) -> tuple[str, str] | None:
    match field, below:
        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
            return name, inspect.cleandoc(text)
    return None
