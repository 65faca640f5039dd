"""What is known about a field wherever it stands: its unit, its default, and what order means in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Annotated, Literal

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.shape import ALWAYS, UNWRITTEN, As, Name
from reconciler.model.wire.version import Version

Unit = Literal["duration", "durations", "bytes", "count", "text", "flag", "list", "mapping", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldInfo:
    """What reports and diffs need to know about a top-level field."""

    unit: Annotated[Unit, ALWAYS] = "text"
    """How to read the values: durations are nanoseconds, sizes are bytes."""
    nested: Annotated[Mapping[str, FieldInfo], Name("units"), As(Mapping[str, Unit], units_of, infos_of_units)] = field(
        default_factory=dict, compare=False
    )
    """Units of the fields inside this one, by name: of the mapping, or of each mapping in the list, that it holds."""
    left_out: str = ""
    """What a missing value means, in words, where `default` says it badly or not at all: `no limit`."""
    default: Json = None
    """The fixed value that a missing one means, if there is one."""
    ordered: bool = True
    """False: the order of the list has no meaning; comparing ignores it and writes keep the live order."""
    nested_unordered: tuple[str, ...] = ()
    """Paths of such lists inside this field, for example `tags` in `placement`."""
    since: Annotated[Version | None, UNWRITTEN] = field(default=None, compare=False)
    """First server version that has the field; what was remembered by a tool that knew no such server lacks it."""
    updatability: Annotated[str, UNWRITTEN] = field(default="", compare=False)
    """What restricts updates of an existing object, in words: `fixed at creation`. Empty: nothing does."""
    rules: Annotated[tuple[str, ...], UNWRITTEN] = field(default=(), compare=False)
    """Numbers of the rules that say what a change costs: `301` stands for ST301 of a stream, and KV301 of a bucket."""
    values_since: Annotated[Mapping[Json, Version], UNWRITTEN] = field(default_factory=dict, compare=False)
    """Values younger than the field, with the first server version that knows them."""
    passing: Annotated[tuple[str, ...], UNWRITTEN] = field(default=(), compare=False)
    """How values begin that only an apply writes, for as long as it or the next one is not through."""

    def is_passing(self, value: Json) -> bool:
        """Is it a value that only an apply writes, for a while? It stays if that apply is interrupted, or leaves the rest
        to the next one."""
        each = value if isinstance(value, list) else [value]
        return bool(self.passing) and any(isinstance(one, str) and one.startswith(self.passing) for one in each)

    def inside(self, path: Iterable[str | int]) -> FieldInfo:
        """Return what is known about a value inside this one; the items of a list are as the list says."""
        info = self
        for step in path:
            if isinstance(step, str):
                info = info.nested.get(step, FieldInfo())
        return info

    @property
    def units(self) -> dict[str, Unit]:
        """Units of nested fields whose numbers are written in a way of their own; none of them lies any deeper."""
        return units_of(self.nested)


def units_of(nested: Mapping[str, FieldInfo]) -> dict[str, Unit]:
    """Units of fields whose numbers are written in a way of their own."""
    return {name: info.unit for name, info in nested.items() if info.unit in ("duration", "bytes", "count")}


def infos_of_units(units: Mapping[str, Unit]) -> dict[str, FieldInfo]:
    """`FieldInfo.nested`, as far as `units` says it."""
    return {name: FieldInfo(unit=unit) for name, unit in units.items()}


def info_at(fields: Mapping[str, FieldInfo], path: str) -> FieldInfo:
    """Return what is known about what stands at a dotted path, as changes name it: `sources[1].opt_start_seq`."""
    top, *rest = re.sub(r"\[\d+\]", "", path).split(".")
    return fields.get(top, FieldInfo()).inside(rest)
