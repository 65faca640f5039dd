"""Answers "where does this stand?" for dotted paths, long after loading; a span is made only when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.documents.read.nodes import Node, shown, span, steps
from reconciler.model.diagnostic import SourceSpan


@dataclass(frozen=True, slots=True)
class Place:
    """The `where` of one declared thing: `place("sources[1].name")`; what is not written takes the place around it."""

    file: str
    key: Node
    """Where the thing itself is shown: the name it is declared under."""
    node: Node

    def __call__(self, path: str) -> SourceSpan:
        found = self.key
        for key, node in steps(path, self.node):
            found = shown(key, node)
        return span(self.file, found)
