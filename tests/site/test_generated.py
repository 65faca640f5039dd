"""Pages made from the program say what the program says now."""

from __future__ import annotations

from tests.site.generated import generated, is_generated
from tests.site.place import DOCS

MEASURED = DOCS / "reference" / "rules" / "measured.json"
"""`make measured` writes it."""


def test_every_generated_page_is_as_the_program_has_it() -> None:
    made = dict(generated())
    stale = [
        str(path.relative_to(DOCS))
        for path, text in made.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"write these anew with `make pages`: {stale}"
    there = {path for path in DOCS.rglob("*") if path.is_file() and is_generated(path)}
    assert there - made.keys() == {MEASURED}, "these are made no more"
    assert [path for path in made if not is_generated(path)] == []
