"""Pages made from the program say what the program says now."""

from __future__ import annotations

from tests.site.generated import generated
from tests.site.place import DOCS


def test_every_generated_page_is_as_the_program_has_it() -> None:
    stale = [
        str(path.relative_to(DOCS))
        for path, text in generated()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"write these anew with `make pages`: {stale}"
