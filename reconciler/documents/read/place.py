"""Finds the place of a dotted path, long after loading; a span is made only when somebody asks."""

from __future__ import annotations

from reconciler.documents.read.nodes import Node, shown, span, steps
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan


@dataclass(frozen=True, slots=True)
class Place:
    """The `where` of one declared resource: `place("sources[1].name")`. A path that is not written gets the place
    around it."""

    key: Node
    """The place of the resource itself: the name under which it is declared."""
    node: Node

    @property
    def file(self) -> str:
        """Return the file of the key."""
        return self.key.file

    def __call__(self, path: str) -> SourceSpan:
        found = self.key
        for key, node in steps(path, self.node):
            found = shown(key, node)
        return span(found)
