"""`python -m tests.site` writes the pages of docs/ that are made from the program."""

from __future__ import annotations

from tests.site.generated import DOCS, generated


def main() -> None:
    """Write each page that is not as it should be, and say which."""
    for path, text in generated().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{path.relative_to(DOCS)}")


if __name__ == "__main__":
    main()
