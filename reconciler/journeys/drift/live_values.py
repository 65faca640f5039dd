"""The values that `drift accept` writes into the declaration of an object: those that drift lists, and no other.

Pure. One more value is written, and said, where an accepted value decided it. A stream that is no mirror any more says its
`mirror_direct` itself, and no longer says one that its origin overruled. A consumer says what it does not take from
accepted `consumer_limits`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from reconciler.changes.change import Change, FieldChange
from reconciler.changes.kind import Context, Kind
from reconciler.journeys.drift.drift import FieldDrift, Item
from reconciler.journeys.drift.look import Looked
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import info_at
from reconciler.model.resource import Address, Declared, Json, Resource, Terms
from reconciler.model.written import in_units


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEdit:
    """A top-level field as the file will have it."""

    name: str
    value: Json
    """As a file says it; None leaves the field out."""
    fields: tuple[FieldDrift, ...]
    """What of it differs from the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExpressed:
    """A top-level field whose live value no file takes."""

    name: str
    why: str
    left_out: str = ""
    """The entry of `unmanaged` that leaves it as found, where that is possible."""


Sorted = tuple[list[FieldEdit], list[NotExpressed]]


def listed_values(item: Item, looked: Looked) -> Sorted:
    """Return what drift lists of an object, by field: what a file can say, and what it cannot."""
    change, kind = _change_and_kind(item, looked)
    edits, lost = list[FieldEdit](), list[NotExpressed]()
    for name, fields in _by_field(item.fields).items():
        drifted = tuple(edit for edit in fields if edit.is_drift)
        if not drifted:
            continue
        value = _value_to_write(name, fields, change, kind)
        if isinstance(value, NotExpressed):
            lost.append(value)
        else:
            edits.append(FieldEdit(name=name, value=value, fields=drifted))
    kept = _without_derived({edit.name: edit.value for edit in edits}, change, kind, looked)
    unsayable = kept.keys() - kind.spec.model_fields.keys()
    noun = kind.name.replace("_", " ")
    lost += (
        NotExpressed(
            name=name, why=f"no file can express {name} of {noun}s", left_out=name if name in kind.fields else ""
        )
        for name in sorted(unsayable)
    )
    return [edit for edit in edits if edit.name in kept.keys() - unsayable], lost


def no_longer_following(written: Mapping[str, Json], item: Item, looked: Looked) -> list[FieldEdit]:
    """Return the live values that something else in the file decided before these fields were written, and that the file
    now has to say itself, or no longer may."""
    change, kind = _change_and_kind(item, looked)
    live, desired = change.live, change.desired
    if live is None or desired is None:
        return []
    before = _declared_values(desired.terms)
    after = {name: value for name, value in {**before, **written}.items() if value is not None}
    was, will = _settled_resource(before, change, kind, looked), _settled_resource(after, change, kind, looked)
    if was is None or will is None:
        return []
    rendered = kind.render(live)
    open_ = kind.spec.model_fields.keys() - {*written, *desired.terms.unmanaged}
    return [
        FieldEdit(
            name=name,
            value=None if name not in rendered else in_units(rendered[name], info_at(kind.fields, name)),
            fields=(_followed_field(name, will if name in after else was, live, kind),),
        )
        for name in kind.fields
        if name in open_
        and was.config.get(name) != will.config.get(name) != live.config.get(name) == desired.config.get(name)
    ]


def no_longer_inherited(before: Change, after: Change, left: Looked) -> list[FieldEdit]:
    """Return what keeps an object as it is live when it would inherit other values from an object that was accepted.

    Consumers inherit from `consumer_limits`, mirrors from `allow_direct`. Its file says its live values, and under
    `unmanaged` those that no file can give it.
    """
    waiting = {differing.top for differing in before.fields}
    inherited = [differing for differing in after.fields if differing.filled and differing.top not in waiting]
    unsayable = [differing.top for differing in inherited if not _can_be_declared(differing, after, left)]
    edits = [
        FieldEdit(
            name=differing.top,
            value=in_units(differing.live, differing.info),
            fields=(FieldDrift(change=replace(differing, desired=before.becomes(differing.top)), drifted=False),),
        )
        for differing in inherited
        if differing.top not in unsayable
    ]
    return [*edits, *([_left_as_found(unsayable, before.terms)] if unsayable else [])]


def _can_be_declared(differing: FieldChange, after: Change, left: Looked) -> bool:
    """Would the server have the live value if the file said it?"""
    config = {**_declared_values(after.terms), differing.top: differing.live}
    settled = _settled_resource(config, after, REGISTRY.of(after.address), left) if differing.live is not None else None
    return settled is not None and settled.config.get(differing.top) == differing.live


def _left_as_found(names: Sequence[str], terms: Terms) -> FieldEdit:
    left = [*terms.unmanaged, *names]
    change = FieldChange(path="unmanaged", live=left, desired=[*terms.unmanaged] or None)
    return FieldEdit(name="unmanaged", value=left, fields=(FieldDrift(change=change, drifted=False),))


def _change_and_kind(item: Item, looked: Looked) -> tuple[Change, Kind]:
    address = Address.parse(item.address)
    return looked.view.changes[address], REGISTRY.of(address)


def _by_field(fields: Iterable[FieldDrift]) -> dict[str, list[FieldDrift]]:
    by_field: dict[str, list[FieldDrift]] = {}
    for field in fields:
        by_field.setdefault(field.change.top, []).append(field)
    return by_field


def _value_to_write(name: str, fields: Sequence[FieldDrift], change: Change, kind: Kind) -> Json:
    """The field as the file says it now, with what drifted in it as it is live; None leaves the field out."""
    declared = _declared_values(change.terms).get(name)
    rendered = kind.render(change.live).get(name) if change.live else None
    if name == "metadata":
        value = _metadata_to_write(fields, declared or {})
    elif (
        isinstance(declared, Mapping)
        and isinstance(rendered, Mapping)
        and not any("[" in field.path for field in fields)
    ):
        value = _with_what_drifted(declared, fields, rendered)
    elif others := [field.path for field in fields if not field.is_drift]:
        return NotExpressed(name=name, why=f"it also differs where nothing drifted ({', '.join(others)})")
    else:
        value = rendered
    return None if value is None else in_units(value, info_at(kind.fields, name))


def _metadata_to_write(fields: Iterable[FieldDrift], declared: Mapping[str, str]) -> Json:
    """Keep only the keys that the file sets: all others belong to other people."""
    keys = dict(declared)
    for field in fields:
        if field.path == "metadata":
            keys = dict(field.change.live or {}) if field.is_drift else keys
        elif field.is_drift:
            key = field.path.removeprefix("metadata.")
            keys = {name: value for name, value in keys.items() if name != key}
            keys |= {} if field.change.live is None else {key: field.change.live}
    return keys or None


def _with_what_drifted(declared: Mapping[str, Json], fields: Iterable[FieldDrift], live: Mapping[str, Json]) -> Json:
    """A mapping as the file says it, with live values at the paths that drifted: the rest of it waits to be applied, or
    is left as found."""
    value: dict[str, Any] = dict(declared)
    for field in fields:
        if not field.is_drift:
            continue
        _, *path = field.path.split(".")
        if not path:
            return dict(live)
        _put_at(value, path, field.change.live)
    return value or None


def _put_at(value: dict[str, Any], path: Sequence[str], live: Json) -> None:
    head, *rest = path
    if rest:
        value[head] = dict(value.get(head) or {})
        _put_at(value[head], rest, live)
        live = value[head] or None
    if live is None:
        value.pop(head, None)
    else:
        value[head] = live


def _without_derived(values: Mapping[str, Json], change: Change, kind: Kind, looked: Looked) -> dict[str, Json]:
    """Leave out values that the server derives from others, such as ack_wait from backoff."""
    if change.live is None:
        return dict(values)
    declared, sayable = _declared_values(change.terms), kind.spec.model_fields.keys()
    kept = dict(values)
    new = [name for name, value in values.items() if value is not None and name not in declared]
    # a value that no file can express must follow from others
    for name in sorted(new, key=lambda new_name: new_name in sayable):
        rest = {
            key: value for key, value in {**declared, **kept}.items() if key in sayable - {name} and value is not None
        }
        settled = _settled_resource(rest, change, kind, looked)
        if settled and name in settled.config and settled.config[name] == change.live.config.get(name):
            del kept[name]
    return kept


def _followed_field(name: str, stated: Resource, live: Resource, kind: Kind) -> FieldDrift:
    """Nobody changed the value, so that it is no drift; it is written because nothing else decides it any more."""
    source = stated.follows.get(name) or (stated.filled[name].source if name in stated.filled else "")
    change = FieldChange(
        path=name,
        live=live.config.get(name),
        desired=stated.config.get(name),
        filled=source,
        info=info_at(kind.fields, name),
    )
    return FieldDrift(change=change, applied=change.desired, drifted=False)


def _settled_resource(config: Mapping[str, Json], change: Change, kind: Kind, looked: Looked) -> Resource | None:
    """What a server would echo; None where no file may say this."""
    with contextlib.suppress(ValidationError):
        declared = Declared(address=change.address, spec=kind.spec.model_validate(config))
        return kind.settle(declared, _context_of(change.address, looked))
    return None


def _declared_values(terms: Terms) -> dict[str, Json]:
    return terms.model_dump(mode="json", exclude_unset=True)


def _context_of(address: Address, looked: Looked) -> Context:
    above = REGISTRY.parent_of(address)
    parent = (_bucket_around(above, looked) or looked.view.live.get(above)) if above else None
    return Context(target=looked.view.snapshot.target, parent=parent, snapshot=looked.view.snapshot)


def _bucket_around(stream: Address, looked: Looked) -> Resource | None:
    """The stream as a bucket of the same files will have it: what consumers inherit, no file of a bucket can say."""
    for address in REGISTRY.backed_by(stream.name):
        change = looked.view.changes.get(address)
        if address != stream and change and change.desired:
            return replace(change.desired, config=REGISTRY.of(address).as_stream(change.desired))
    return None


def path_in_file(address: Address, kind: Kind) -> Iterator[str]:
    """Return the path of a resource in a file: `streams`, `ORDERS`, `consumers`, `west`."""
    if kind.place.within:
        parent = REGISTRY[kind.place.within]
        yield from path_in_file(Address(parent.name, address.names[:-1]), parent)
    yield kind.section
    yield address.name
