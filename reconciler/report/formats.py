"""Every format by name: `--format` and `--report` know these and no others. Each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from reconciler.report.visible import inert

if TYPE_CHECKING:
    from reconciler.report.document import Document


@dataclass(frozen=True, slots=True)
class Format:
    """A document in, its text out."""

    name: str
    about: str
    """For whom, in a few words."""
    made_safe: Callable[[str], str] = str
    """Goes over every text, also over those that a report has in a form of its own."""

    def __call__(self, document: Document) -> str:
        render = document.own.get(self.name) or import_module(f"reconciler.report.{self.name}").render
        return self.made_safe(render(document))

    def several(self, documents: Sequence[Document]) -> str:
        """Reports of one command about several topologies, as one text."""
        if len(documents) == 1:
            return self(documents[0])
        return self.made_safe(import_module(f"reconciler.report.{self.name}").joined(documents))


_ALL = (
    Format("text", "people at a terminal", inert),
    Format("json", "tools, by a published schema"),
    Format("markdown", "one comment on a pull request", inert),
    Format("github", "annotations of a workflow"),
    Format("sarif", "code scanning"),
    Format("junit", "test reports of CI"),
    Format("html", "a page of its own, with a drawing"),
)

FORMATS: Mapping[str, Format] = {one.name: one for one in _ALL}
