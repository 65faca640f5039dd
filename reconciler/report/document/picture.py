"""The picture of a topology: a card for each stream or bucket with its readers, and arrows where messages are copied.

Origins are left of their copies; unconnected cards are below. The same topology is always drawn the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from reconciler.changes.plan import PlannedChange
from reconciler.changes.view import AboutKind
from reconciler.model.dataclass import dataclass
from reconciler.report.document.document import Document
from reconciler.report.document.entries import Section, section_of

MOST_CARDS = 120
"""More cards would be unreadable; objects with changes or arrows are drawn first."""
MOST_ROWS = 10
_COPIED = {"mirror": "mirror", "sources": "source"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRow:
    """A consumer or a group of a stream."""

    address: str
    note: str = ""
    section: Section | None = None
    """What happens to it; None: it stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    address: str
    rows: tuple[CardRow, ...] = ()
    more: int = 0
    """How many rows are left out."""
    section: Section | None = None
    elsewhere: bool = False
    """Not declared here: of another owner, or in another account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    origin: str
    copy: str
    word: str
    """`mirror` or `source`."""
    news: str = ""
    """`new`, `gone`, or empty for an unchanged arrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    layers: tuple[tuple[Card, ...], ...] = ()
    """Connected cards, beginning with the origins."""
    apart: tuple[Card, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    left_out: int = 0


def picture(document: Document) -> Picture:
    """Return the picture of what a document declares and changes, with at most MOST_CARDS cards; `left_out` counts the
    others."""
    sections = {change.address: section_of(change) for change in document.changes} or _sections_of_errors(document)
    specs = (
        {str(resource.address): resource.spec for resource in document.declared.resources} if document.declared else {}
    )
    addresses = {**dict.fromkeys(specs), **dict.fromkeys(sections)}
    arrows = _arrows(specs, document.changes, _Origins(addresses.keys(), document.kinds))
    cards = _cards(addresses, specs, sections, arrows)
    connected = {name for arrow in arrows for name in (arrow.origin, arrow.copy)}
    by_importance = sorted(
        cards, key=lambda card: (not _has_changes(card), card.address not in connected, card.address)
    )
    drawn = {card.address: card for card in by_importance[:MOST_CARDS]}
    arrows = [arrow for arrow in arrows if arrow.origin in drawn and arrow.copy in drawn]
    layers = _layers(sorted(drawn), arrows)
    placed = {name for layer in layers for name in layer}
    return Picture(
        layers=tuple(tuple(drawn[name] for name in layer) for layer in layers),
        apart=tuple(drawn[name] for name in sorted(drawn) if name not in placed),
        arrows=tuple(arrows),
        left_out=len(cards) - len(drawn),
    )


def _sections_of_errors(document: Document) -> dict[str, Section]:
    """Without a plan, mark the objects with findings."""
    every = (*document.diagnostics, *document.shown_in_parts)
    errors = (diagnostic.address for diagnostic in every if diagnostic.is_error and diagnostic.address)
    return dict.fromkeys((address for address in errors if "/" in address), Section.UPDATE)


def _has_changes(card: Card) -> bool:
    return card.section is not None or any(row.section is not None for row in card.rows)


def _cards(
    addresses: Iterable[str], specs: Mapping[str, Any], sections: Mapping[str, Section], arrows: Sequence[Arrow]
) -> list[Card]:
    rows: dict[str, list[CardRow]] = {}
    tops = {address for address in addresses if address.count("/") == 1}
    for address in sorted(set(addresses) - tops):
        note = _reader_note(specs.get(address))
        row = CardRow(address=address, note=note, section=sections.get(address))
        rows.setdefault(f"stream/{address.split('/')[1]}", []).append(row)
    origins = {arrow.origin for arrow in arrows}
    return [
        _card(
            address, rows.get(address, []), sections, elsewhere=address not in tops or _is_external(specs.get(address))
        )
        for address in sorted(tops | set(rows) | origins)
    ]


def _card(address: str, rows: list[CardRow], sections: Mapping[str, Section], *, elsewhere: bool) -> Card:
    """Show changes first, where not everything fits."""
    first = sorted(rows, key=lambda row: (row.section is None, row.address))[:MOST_ROWS]
    return Card(
        address=address, rows=tuple(first), more=len(rows) - len(first), section=sections.get(address),
        elsewhere=elsewhere,
    )  # fmt: skip


def _is_external(spec: Any) -> bool:
    return bool(getattr(spec, "external", False))


def _reader_note(spec: Any) -> str:
    """Return what tells one reader from another at a glance."""
    if partitions := getattr(spec, "max_members", None):
        return f"{partitions} partitions"
    policy = getattr(spec, "priority_policy", None)
    return str(getattr(policy, "value", policy) or "")


def _arrows(specs: Mapping[str, Any], changes: Iterable[PlannedChange], origins: _Origins) -> list[Arrow]:
    by_ends = dict[tuple[str, str], Arrow]()
    for address, spec in specs.items():
        for word, copied in (
            ("mirror", _as_sequence(getattr(spec, "mirror", None))),
            ("source", getattr(spec, "sources", None)),
        ):
            for origin_spec in copied or ():
                origin = origins.address_of(
                    str(origin_spec.name), is_far=getattr(origin_spec, "external", None) is not None
                )
                by_ends[origin, address] = Arrow(origin=origin, copy=address, word=word)
    for change in changes:
        for arrow in _changed_arrows(change, origins):
            by_ends[arrow.origin, arrow.copy] = arrow
    return [by_ends[ends] for ends in sorted(by_ends)]


def _changed_arrows(change: PlannedChange, origins: _Origins) -> Iterator[Arrow]:
    """Arrows that an update adds and removes."""
    for changed in change.fields:
        word = _COPIED.get(changed.path.partition("[")[0])
        if word is None or "." in changed.path:
            continue
        live, desired = _origin_names(changed.live), _origin_names(changed.desired)
        for news, which in (("gone", live - desired), ("new", desired - live)):
            for name in sorted(which):
                yield Arrow(origin=origins.address_of(name), copy=change.address, word=word, news=news)


def _origin_names(value: Any) -> set[str]:
    return {str(copied["name"]) for copied in _as_sequence(value) if isinstance(copied, Mapping) and "name" in copied}


def _as_sequence(value: Any) -> Sequence[Any]:
    return () if value is None else value if isinstance(value, list | tuple) else (value,)


@dataclass(frozen=True, slots=True)
class _Origins:
    """Finds the streams that others may copy."""

    addresses: Collection[str]
    kinds: Mapping[str, AboutKind]

    def address_of(self, name: str, *, is_far: bool = False) -> str:
        """Return the address of an origin. It may be named as a bucket or by its stream; another account's stream is
        never ours."""
        if is_far:
            return f"elsewhere/{name}"
        backed = ((kind, kind_info.backing) for kind, kind_info in self.kinds.items() if kind_info.backing is not None)
        tries = [f"stream/{name}", *(f"{kind}/{name.removeprefix(prefix)}" for kind, prefix in backed)]
        return next((address for address in tries if address in self.addresses), tries[0])


@dataclass(slots=True)
class _Depth:
    """Counts the copies between a card and its farthest origin; a cycle counts once around."""

    origins: Mapping[str, Sequence[str]]
    known: dict[str, int] = field(default_factory=dict)

    def of(self, name: str) -> int:
        """Return the depth of a card, without recursion, because a chain may be long."""
        todo = [name]
        while todo:
            card = todo[-1]
            waiting = [
                origin for origin in self.origins.get(card, ()) if origin not in self.known and origin not in todo
            ]
            if waiting:
                todo.append(waiting[0])
                continue
            depths = [self.known[origin] + 1 for origin in self.origins.get(card, ()) if origin in self.known]
            self.known[card] = max(depths, default=0)
            todo.pop()
        return self.known[name]


def _layers(names: Sequence[str], arrows: Sequence[Arrow]) -> list[list[str]]:
    origins: dict[str, list[str]] = {}
    for arrow in arrows:
        origins.setdefault(arrow.copy, []).append(arrow.origin)
    connected = {name for arrow in arrows for name in (arrow.origin, arrow.copy)}
    depth = _Depth(origins)
    layers: dict[int, list[str]] = {}
    for name in names:
        if name in connected:
            layers.setdefault(depth.of(name), []).append(name)
    return _untangled_layers([layers[number] for number in sorted(layers)], origins)


def _untangled_layers(layers: list[list[str]], origins: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Put each card near its origins, as far as possible."""
    heights: dict[str, float] = {}
    for layer in layers:
        layer.sort(key=lambda name: (_mean_height(heights, origins.get(name, ())), name))
        heights |= {name: float(number) for number, name in enumerate(layer)}
    return layers


def _mean_height(heights: Mapping[str, float], origins: Sequence[str]) -> float:
    known_heights = [heights[origin] for origin in origins if origin in heights]
    return sum(known_heights) / len(known_heights) if known_heights else 0.0
