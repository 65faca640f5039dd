"""Reads paged lists in parallel, and complete while others create and delete.

A list is no snapshot: a deletion between two pages shifts the rest, and an untouched object could slip through between
them. So pages overlap, and each must begin at or before the name at which the previous one ended.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.server.wire.answers import Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

OVERLAP = 16
"""How many objects two pages share: so many may be deleted before a page while it is under way."""
ATTEMPTS = 6

Section = Literal["streams", "consumers"]


@dataclass(slots=True)
class Listed:
    """Everything that one list answered, by name."""

    items: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    """Names that exist but whose state is unknown (`missing`, `offline`), with the reason."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """The list changed faster than it could be read."""

    def __str__(self) -> str:
        return f"the list kept changing while it was read, {ATTEMPTS} times in a row"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    offset: int
    total: int
    limit: int
    items: Mapping[str, Mapping[str, Json]]
    silent: Mapping[str, str]

    @property
    def names(self) -> set[str]:
        return {*self.items, *self.silent}

    @property
    def reaches_end(self) -> bool:
        return not self.names or self.offset + len(self.names) >= self.total


async def read_list(js: JetStream, endpoint: str, section: Section) -> Listed | Refusal | NoAnswer | Unsettled:
    """Return STREAM.LIST, CONSUMER.LIST.<stream> or the same of NAMES, complete."""
    for _ in range(ATTEMPTS):
        pages = await _read_pages(js, endpoint, section)
        if not isinstance(pages, list):
            return pages
        if _is_complete(pages):
            return _merged_pages(pages)
    return Unsettled()


async def _read_pages(js: JetStream, endpoint: str, section: Section) -> list[_Page] | Refusal | NoAnswer:
    first = await _read_page(js, endpoint, section, 0)
    if not isinstance(first, _Page):
        return first
    pages = [first]
    if not first.reaches_end:
        step = max(first.limit - OVERLAP, 1)
        offsets = range(step, first.total - OVERLAP, step)
        rest = await asyncio.gather(*(_read_page(js, endpoint, section, offset) for offset in offsets))
        for page in rest:
            if not isinstance(page, _Page):
                return page
            pages.append(page)
    while not any(page.reaches_end for page in pages):  # it grew
        page = await _read_page(js, endpoint, section, pages[-1].offset + max(len(pages[-1].names) - OVERLAP, 1))
        if not isinstance(page, _Page):
            return page
        pages.append(page)
    return pages


async def _read_page(js: JetStream, endpoint: str, section: Section, offset: int) -> _Page | Refusal | NoAnswer:
    answer: Answer = await js.read(endpoint, {"offset": offset} if offset else None, within=js.list_timeout)
    if isinstance(answer, Refusal | NoAnswer):
        return answer
    silent = dict.fromkeys(answer.get("missing") or (), "the server that holds it did not answer")
    silent |= {name: f"offline: {reason}" for name, reason in (answer.get("offline") or {}).items()}
    items = {_name(item, section): item for item in answer.get(section) or ()}
    for name in silent.keys() & items.keys():
        del silent[name]
    return _Page(offset=offset, total=answer["total"], limit=answer.get("limit") or 256, items=items, silent=silent)


def _name(item: Json, section: Section) -> str:
    if isinstance(item, str):  # NAMES lists nothing else
        return item
    name: str = item["config"]["name"] if section == "streams" else item["name"]
    return name


def _is_complete(pages: list[_Page]) -> bool:
    """Is everything that existed all the time in one of the pages? Servers sort by bytes, as code points do."""
    for page, following in itertools.pairwise(pages):
        if page.reaches_end:
            return True
        if not following.names or min(following.names) > max(page.names):
            return False
    return pages[-1].reaches_end


def _merged_pages(pages: list[_Page]) -> Listed:
    together = Listed()
    for page in pages:
        together.items.update(page.items)
        together.silent.update(page.silent)
    together.silent = {name: why for name, why in together.silent.items() if name not in together.items}
    return together


async def ask_each(
    js: JetStream, silent: Mapping[str, str], endpoint: Callable[[str], str], gone: int, listing: Listed
) -> None:
    """Ask for each silent object by name; a persistent client waits until there is a leader again. If a whole first
    batch stays silent, the rest will too, so it is not asked."""
    names, batch = sorted(silent), 64
    for start in range(0, len(names), batch):
        part = names[start : start + batch]
        answers = await asyncio.gather(*(js.read(endpoint(name), within=min(js.timeout, 2)) for name in part))
        for name, answer in zip(part, answers, strict=True):
            if isinstance(answer, Mapping):
                listing.items[name] = answer
            if isinstance(answer, Mapping) or (isinstance(answer, Refusal) and answer.err_code == gone):
                listing.silent.pop(name, None)
        if all(isinstance(answer, NoAnswer) for answer in answers):
            return
