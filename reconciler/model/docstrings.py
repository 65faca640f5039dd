"""The text below each attribute of a class. Only schemas need it, and reading the source takes a while, so no start does."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise


def attribute_docs(owner: type) -> dict[str, str]:
    """Return the text by attribute; what a class says counts more than what those above it say."""
    return {
        name: text
        for base in reversed(owner.__mro__)
        if base.__module__ != "builtins"
        for name, text in _own_docs(base)
    }


@cache
def _own_docs(owner: type) -> tuple[tuple[str, str], ...]:
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except (OSError, TypeError):  # not written in Python
        return ()
    assert isinstance(definition, ast.ClassDef)
    return tuple(filter(None, (_name_and_text(attribute, below) for attribute, below in pairwise(definition.body))))


def _name_and_text(attribute: ast.stmt, below: ast.stmt) -> tuple[str, str] | None:
    match attribute, below:
        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
            return name, " ".join(text.split())
    return None
