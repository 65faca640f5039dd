"""`drift --accept`: writes live values into the files, in place; comments and layout stay.

It accepts fields only: what to do about an object that is missing, recreated or owned by somebody else is for people to
decide. It writes the files once, all of them or none, and only if they will then be read as wanted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from reconciler.changes.diff import Change
from reconciler.changes.kind import Context, Kind
from reconciler.documents.read.complain import listed
from reconciler.documents.read.files import Disk
from reconciler.documents.read.syntax import decode
from reconciler.documents.write.edit import edited
from reconciler.documents.write.splices import CannotEdit
from reconciler.documents.write.whole import write_whole
from reconciler.journeys.drift.drift import FieldDrift, Item, Written
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.plan.files import load
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.fields import about
from reconciler.model.pages import PAGES
from reconciler.model.resource import Address, Declared, Json, Resource, Terms
from reconciler.model.run_options import RunOptions
from reconciler.model.written import in_units

MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    written: tuple[Written, ...] = ()
    refused: tuple[Diagnostic, ...] = ()
    """The fields that could not be written, and why."""
    left: Looked
    """The drift that is left with the files as they are now."""


class _Unsayable(Exception):
    """Live values that no file can express for this object."""

    def __init__(self, fields: Sequence[str], kind: Kind) -> None:
        super().__init__(f"no file can express {listed(fields)} of {kind.name.replace('_', ' ')}s")
        self.left = f"leave it as found: unmanaged: [{', '.join(fields)}]"


@dataclass(slots=True)
class _Editing:
    """The files as they will be, and as they were."""

    now: dict[Path, bytes] = field(default_factory=dict)
    before: dict[Path, bytes] = field(default_factory=dict)

    def text(self, file: Path) -> tuple[bytes, str]:
        """The byte order mark of a file, and its text."""
        if file not in self.now:
            self.now[file] = self.before[file] = file.read_bytes()
        data = self.now[file]
        mark = MARK if data.startswith(MARK) else b""
        return mark, data[len(mark) :].decode()

    def write(self) -> None:
        write_whole({file: data for file, data in self.now.items() if data != self.before[file]})


@dataclass(frozen=True)
class _AsEdited(Disk):
    """The disk as it will be."""

    now: Mapping[Path, bytes]

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        return decode(str(path), self.now[path]) if path in self.now else super().read(path)


def accept(found: Looked, paths: Sequence[Path], options: RunOptions) -> Accepted:
    """Edit the files: write every value that can be written, and report the others."""
    editing, written, refused = _Editing(), list[Written](), list[Diagnostic]()
    for item in found.drift.drifted:
        counted = [one for one in item.fields if one.counts]
        if not counted:
            continue
        try:
            edited_now = _edit(editing, item, found)
        except _Unsayable as unsayable:
            back = "put the value back (--restore), or " if item.is_ours else ""
            refused.append(_refused(item, str(unsayable), f"{back}{unsayable.left}"))
        except (CannotEdit, OSError, UnicodeDecodeError) as why:
            refused.append(_refused(item, (why.strerror if isinstance(why, OSError) else None) or str(why)))
        else:
            said = [one for one in counted if one.change.top in edited_now]
            written += (Written(address=item.address, field=one, span=one.span or item.span) for one in said)
    return Accepted(written=tuple(written), refused=tuple(refused), left=_again(editing, found, paths, options))


def _again(editing: _Editing, found: Looked, paths: Sequence[Path], options: RunOptions) -> Looked:
    """Read the edited files, write them if they are read as wanted, and compare them with the same account again."""
    loaded = load(paths, _AsEdited(editing.now))
    if loaded.topology is None:
        raise CannotContinue(_not_as_wanted(loaded.diagnostics))
    try:
        editing.write()
    except OSError as error:
        raise CannotContinue(_not_written(error)) from None
    return look(loaded.topology, found.view.snapshot, options)


def _edit(editing: _Editing, item: Item, found: Looked) -> Collection[str]:
    """Edit the declaration of an object, and return the fields whose values were written or removed."""
    address = Address.parse(item.address)
    change, kind = found.view.changes[address], REGISTRY.of(address)
    place = change.where("")
    if place is None or change.live is None or change.desired is None:
        raise CannotEdit("no file declares it")
    file = Path(place.file)
    mark, text = editing.text(file)
    values = _without_derived(dict(_values(item, change.desired, change.live, kind)), change, kind, found)
    values |= _no_longer_following(values, change.desired, change.live, kind, found)
    ordered = [name for name, info in kind.fields.items() if info.ordered]
    editing.now[file] = mark + edited(place.file, text, [*_path(address, kind)], values, ordered).encode()
    return values.keys()


def _path(address: Address, kind: Kind) -> Iterator[str]:
    """Return the path of a resource in a file: `streams`, `ORDERS`, `consumers`, `west`."""
    if kind.place.within:
        parent = REGISTRY[kind.place.within]
        yield from _path(Address(parent.name, address.names[:-1]), parent)
    yield kind.place.section
    yield address.name


def _values(item: Item, desired: Resource, live: Resource, kind: Kind) -> Iterator[tuple[str, Json]]:
    """The new values of the top-level fields; None leaves a field out."""
    rendered = kind.render(live)
    by_top: dict[str, list[FieldDrift]] = {}
    for one in item.fields:
        by_top.setdefault(one.change.top, []).append(one)
    for top, fields in by_top.items():
        if not any(one.counts for one in fields):
            continue
        if top == "metadata":
            yield top, _metadata(fields, getattr(desired.terms, "metadata", None) or {})
            continue
        if not all(one.counts for one in fields):
            others = ", ".join(one.path for one in fields if not one.counts)
            raise CannotEdit(f"{top} also differs where nothing drifted ({others})")
        value = rendered.get(top)
        yield top, None if value is None else in_units(value, about(kind.fields, top))


def _without_derived(values: dict[str, Json], change: Change, kind: Kind, found: Looked) -> dict[str, Json]:
    """Leave out values that the server derives from others, such as ack_wait from backoff."""
    if change.live is None:
        return values
    said, context = _said(change.terms), _context(change.address, kind, found)
    sayable = kind.spec.model_fields.keys()
    kept = dict(values)
    new = [name for name, value in values.items() if value is not None and name not in said]
    # a value that no file can express must follow from others
    for name in sorted(new, key=lambda one: one in sayable):
        rest = {key: value for key, value in {**said, **kept}.items() if key in sayable - {name} and value is not None}
        with contextlib.suppress(ValidationError):
            spec = kind.spec.model_validate(rest)
            settled = kind.settle(Declared(address=change.address, spec=spec), context).config
            if name in settled and settled[name] == change.live.config.get(name):
                del kept[name]
    if lost := sorted(kept.keys() - sayable):
        raise _Unsayable(lost, kind)
    return kept


def _no_longer_following(
    values: Mapping[str, Json], desired: Resource, live: Resource, kind: Kind, found: Looked
) -> dict[str, Json]:
    """Live values that the file did not say because they followed from what it said before: `mirror_direct` of a stream
    that is no mirror any more."""
    rest = {key: value for key, value in {**_said(desired.terms), **values}.items() if value is not None}
    with contextlib.suppress(ValidationError):
        spec = kind.spec.model_validate(rest)
        settled = kind.settle(Declared(address=live.address, spec=spec), _context(live.address, kind, found)).config
        return {
            name: in_units(value, about(kind.fields, name))
            for name, value in kind.render(live).items()
            if name in kind.spec.model_fields
            and name not in {*rest, *desired.terms.unmanaged}
            and settled.get(name) != live.config.get(name) == desired.config.get(name)
        }
    return {}


def _said(terms: Terms) -> dict[str, Json]:
    return terms.model_dump(mode="json", exclude_unset=True)


def _context(address: Address, kind: Kind, found: Looked) -> Context:
    above = Address(kind.place.within, address.names[:-1]) if kind.place.within else None
    parent = found.view.live.get(above) if above else None
    return Context(target=found.view.snapshot.target, parent=parent, snapshot=found.view.snapshot)


def _metadata(fields: Iterable[FieldDrift], said: Mapping[str, str]) -> Json:
    """Keep only the keys that the file sets: all others belong to other people."""
    keys = dict(said)
    for one in fields:
        if one.path == "metadata":
            keys = dict(one.change.live or {}) if one.counts else keys
        elif one.counts:
            key = one.path.removeprefix("metadata.")
            keys = {name: value for name, value in keys.items() if name != key}
            keys |= {} if one.change.live is None else {key: one.change.live}
    return keys or None


def _refused(item: Item, why: str, fix: str = "edit it by hand") -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name, address=item.address, span=item.span,
        message=f"the file was not edited here: {why}", fix=fix,
    )  # fmt: skip


def _not_written(error: OSError) -> Diagnostic:
    why = (error.strerror or str(error)).lower()
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name,
        message=f"Cannot write {error.filename or 'a file'}: {why}. No file was changed.",
        fix="Check that it may be written, or edit it by hand.",
    )  # fmt: skip


def _not_as_wanted(found: Sequence[Diagnostic]) -> Diagnostic:
    said = found[0].message if found else "nothing could be read"
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name, span=found[0].span if found else None,
        message=f"No file can express the live values: {said}. No file was changed.",
        fix="Edit the files by hand, or leave the field as found: `unmanaged`.",
    )  # fmt: skip
