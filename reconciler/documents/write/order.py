"""The order of keys in a file: what a thing is, how it behaves, what its owner says about it, then what hangs on it.

Fields stand as they are declared, which is how the documentation shows them; FIRST and LAST say what goes before and after.
Names (of streams, labels, metadata …) keep the order that the author gave them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_

from reconciler.changes.kind import Kind, Registry
from reconciler.documents.fill.for_each import FOR_EACH
from reconciler.documents.fill.overlay import APPEND, NOT_HERE, ONLY_HERE, REMOVE, UNSET
from reconciler.documents.parse.files import KEYS
from reconciler.documents.parse.shape import ANYTHING, Shape, shape_of_spec
from reconciler.model.resource import Json, Spec, Terms
from reconciler.model.topology import Allowance, BulkForget, BulkRemoval, Expect, Guard, Ignored, Move, Removal

FIRST = (
    "external", "description", "subjects", "mirror", "sources", "filter_subject", "filter_subjects", "deliver_subject",
)  # fmt: skip
"""Of a resource: what it holds, takes or gives, before how it does so."""
LAST = ("members", "member_mappings", *Terms.model_fields)
HEAD = KEYS[: KEYS.index("policies") + 1]
"""What files begin with; the rest of KEYS stands below what is declared."""
ENTRIES: Mapping[str, tuple[type[Spec], ...]] = {
    "allow": (Allowance,), "guards": (Guard,), "moved": (Move,), "removed": (BulkRemoval, Removal), "forget": (BulkForget,),
    "ignore_drift": (Ignored,),
}  # fmt: skip
"""What the items of these lists are."""
CONSENT = ("code", "to", "on")
"""To what, and for whom, before why."""


def document_order(registry: Registry) -> Shape:
    """Return what a topology's file may hold, with the keys of every mapping in their order; free names have none."""
    properties = {key: Shape() for key in HEAD} | _order_of_sections(None, registry) | {key: Shape() for key in KEYS}
    properties["expect"] = _ordered_copy(shape_of_spec(Expect))
    for key, specs in ENTRIES.items():
        shapes = reduce(or_, (_ordered_copy(shape_of_spec(spec)).properties for spec in specs))
        entry = {FOR_EACH: Shape()} | {
            name: shapes[name] for name in _names_in_order(shapes, CONSENT if Allowance in specs else ("address",))
        }
        properties[key] = Shape(items=Shape(properties=entry))
    return Shape(properties=properties)


def in_order(value: Json, order: Shape) -> Json:
    """Return the same with the keys of every mapping in their order."""
    if isinstance(value, Mapping):
        keys = [key for key in order.properties if key in value]
        return {key: in_order(value[key], order.below(key) or ANYTHING) for key in dict.fromkeys([*keys, *value])}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [in_order(item, order.items or ANYTHING) for item in value]
    return value


def _order_of_sections(parent: str | None, registry: Registry) -> dict[str, Shape]:
    return {
        name: Shape(values=_order_of_resource(kinds, registry)) for name, kinds in registry.sections(parent).items()
    }


def _order_of_resource(kinds: Sequence[Kind], registry: Registry) -> Shape:
    """Return the order of a resource's keys; of several kinds, where they share a section."""
    tags = {kind.place.tag[0]: Shape() for kind in kinds if kind.place.tag}
    properties_by_name = tags | {
        name: shape for kind in kinds for name, shape in shape_of_spec(kind.spec).properties.items()
    }
    own = {
        name: _ordered_copy(properties_by_name[name]) for name in _names_in_order(properties_by_name, (*tags, *FIRST))
    }
    before, after = (
        {name: Shape() for name in names} for names in ((FOR_EACH, ONLY_HERE, NOT_HERE), (UNSET, APPEND, REMOVE))
    )
    properties = {**before, **own, **after}
    for kind in kinds:
        properties |= _order_of_sections(kind.name, registry)
    return Shape(properties=properties)


def _ordered_copy(shape: Shape, seen: dict[int, Shape] | None = None) -> Shape:
    """Copy a shape with its keys in order. A part of a spec may hold its like."""
    seen = {} if seen is None else seen
    if id(shape) not in seen:
        copy = seen[id(shape)] = Shape()
        copy.properties |= {
            name: _ordered_copy(shape.properties[name], seen) for name in _names_in_order(shape.properties)
        }
        copy.values = shape.values and _ordered_copy(shape.values, seen)
        copy.items = shape.items and _ordered_copy(shape.items, seen)
    return seen[id(shape)]


def _names_in_order(names: Collection[str], first: Sequence[str] = ()) -> list[str]:
    before = [name for name in first if name in names]
    after = [name for name in LAST if name in names]
    return [*before, *(name for name in names if name not in (*before, *after)), *after]
