"""Every format by name: `--format` and `--report` know these and no others. Each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reconciler.model.dataclass import dataclass
from reconciler.report.words.visible import inert

if TYPE_CHECKING:
    from reconciler.report.document.document import Document


@dataclass(frozen=True, slots=True)
class Format:
    """A format turns a document into text."""

    name: str
    about: str
    """Its readers, in a few words."""
    module: str
    """The module in `reconciler.report`: `render_all` renders several documents, and `render` one where that is another text."""
    made_safe: Callable[[str], str] = str
    """Cleans every text."""

    def __call__(self, document: Document) -> str:
        render = getattr(self._module, "render", None)
        return self.made_safe(render(document) if render else self._module.render_all([document]))

    def render_several(self, documents: Sequence[Document]) -> str:
        """Join the reports of one command about several topologies into one text."""
        if len(documents) == 1:
            return self(documents[0])
        return self.made_safe(self._module.render_all(documents))

    @property
    def _module(self) -> Any:
        return import_module(f"reconciler.report.{self.module}")


_ALL = (
    Format("text", "people at a terminal", "text", inert),
    Format("json", "tools, by a published schema", "codec.json"),
    Format("markdown", "one comment on a pull request", "markdown.markdown", inert),
    Format("github", "annotations of a workflow", "github"),
    Format("sarif", "code scanning", "sarif"),
    Format("junit", "test reports of CI", "junit"),
    Format("html", "a page of its own, with a drawing", "html.html"),
)

FORMATS: Mapping[str, Format] = {one.name: one for one in _ALL}
