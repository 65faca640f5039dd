"""The text below each field of a model: what editors show while somebody types.

Pydantic can collect them itself, but reads the source again on every start to do so; only the schema needs them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from reconciler.model.docstrings import inherited
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
    return {model.__name__: _of(model) for model in models}


def _of(model: type[Spec]) -> dict[str, Said]:
    return {_key(name): said(text) for name, text in inherited(model).items() if name in model.model_fields}


def _models(base: type[Spec]) -> list[type[Spec]]:
    return [base, *(model for below in base.__subclasses__() for model in _models(below))]


def _key(name: str) -> str:
    """`from` is a word of Python's own: the field is called `from_`."""
    return name.removesuffix("_")


def said(text: str) -> Said:
    """`What it is. Left out: what stands for it. Updates: what they may do.`, in its parts."""
    about, *parts = re.split(r" (?=Left out: |Updates: )", text)
    found = dict(part.split(": ", 1) for part in parts)
    return Said(about, *(found.get(word, "").removesuffix(".") for word in ("Left out", "Updates")))
