"""`llms.txt`: what programs that read documentation should read first, in the order of the navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML

from tests.site.place import DOCS, ROOT

TITLE = re.compile(r"^# (?P<words>.+)$", re.MULTILINE)
FIRST = re.compile(r"^# .+\n+(?P<words>(?:(?!```)[^\n#|<!*-][^\n]*\n)+)", re.MULTILINE)


def for_machines() -> dict[str, str]:
    """Every page with its address and its first sentence."""
    site = YAML(typ="safe", pure=True).load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    head = f"# {site['site_name']}\n\n> {site['site_description']}\n"
    return {"llms.txt": head + "".join(_section(part, site["site_url"]) for part in site["nav"])}


def _section(part: dict[str, Any], site: str) -> str:
    ((title, inside),) = part.items()
    if isinstance(inside, str):
        return ""
    return f"\n## {title}\n\n" + "".join(f"- {line}\n" for line in _lines(inside, site))


def _lines(inside: list[dict[str, str]], site: str) -> Iterator[str]:
    for ((_, page),) in (entry.items() for entry in inside):
        text = (DOCS / page).read_text(encoding="utf-8") if (DOCS / page).exists() else ""
        title, first = TITLE.search(text), FIRST.search(text)
        about = f": {_sentence(first['words'])}" if first else ""
        yield f"[{title['words'] if title else page}]({site}{page.removesuffix('.md').removesuffix('/index')}/){about}"


def _sentence(paragraph: str) -> str:
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=[.?!]) ", plain)[0]
