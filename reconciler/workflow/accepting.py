"""`drift --accept`: writes what is live into the files where it stands; comments and layout stay.

Only fields: what is missing, made anew or somebody else's is for people to decide. Each file is written once, and put back
as it was if it should not be read as wanted then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.core.diff import Change
from reconciler.core.drift import FieldDrift, Item, Written
from reconciler.core.kind import Context, Kind
from reconciler.core.pages import PAGES
from reconciler.core.resource import Address, Declared, Json, Resource
from reconciler.documents.edit import edited
from reconciler.documents.splices import CannotEdit
from reconciler.kinds import REGISTRY
from reconciler.workflow.drift import Looked, looked
from reconciler.workflow.files import load
from reconciler.workflow.plan import PlanOptions
from reconciler.workflow.sections import in_units

MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    written: tuple[Written, ...] = ()
    refused: tuple[Diagnostic, ...] = ()
    """What could not be written, and why."""
    left: Looked
    """What is adrift with the files as they are now."""


@dataclass(slots=True)
class _Editing:
    """The files as they will be, and as they were."""

    now: dict[Path, bytes] = field(default_factory=dict)
    before: dict[Path, bytes] = field(default_factory=dict)

    def text(self, file: Path) -> tuple[bytes, str]:
        """Its byte order mark, and what it says."""
        if file not in self.now:
            self.now[file] = self.before[file] = file.read_bytes()
        data = self.now[file]
        mark = MARK if data.startswith(MARK) else b""
        return mark, data[len(mark) :].decode()

    def write(self) -> None:
        for file, data in self.now.items():
            if data != self.before[file]:
                file.write_bytes(data)

    def undo(self) -> None:
        for file, data in self.before.items():
            with contextlib.suppress(OSError):  # what could not be written is as it was
                file.write_bytes(data)


def accept(found: Looked, paths: Sequence[Path], options: PlanOptions) -> Accepted:
    """Edit the files. Everything that can be written is; what cannot is said."""
    editing, written, refused = _Editing(), list[Written](), list[Diagnostic]()
    for item in found.drift.drifted:
        counted = [one for one in item.fields if one.counts]
        if not counted:
            continue
        try:
            _edit(editing, item, found)
        except (CannotEdit, OSError, UnicodeDecodeError) as why:
            refused.append(_refused(item, (why.strerror if isinstance(why, OSError) else None) or str(why)))
        else:
            written += (Written(address=item.address, field=one, span=one.span or item.span) for one in counted)
    return Accepted(written=tuple(written), refused=tuple(refused), left=_again(editing, found, paths, options))


def _again(editing: _Editing, found: Looked, paths: Sequence[Path], options: PlanOptions) -> Looked:
    """Written, and read once more beside the same account."""
    try:
        editing.write()
    except OSError as error:
        editing.undo()
        raise CannotContinue(_not_written(error)) from None
    loaded = load(paths)
    if loaded.topology is None:
        editing.undo()
        raise CannotContinue(_not_as_wanted(loaded.diagnostics))
    return looked(loaded.topology, found.snapshot, options)


def _edit(editing: _Editing, item: Item, found: Looked) -> None:
    address = Address.parse(item.address)
    change, kind = found.world.changes[address], REGISTRY.of(address)
    place = change.where("")
    if place is None or change.live is None or change.desired is None:
        raise CannotEdit("it stands in no file")
    file = Path(place.file)
    mark, text = editing.text(file)
    values = _without_derived(dict(_values(item, change.desired, change.live, kind)), change, kind, found)
    ordered = [name for name, info in kind.fields.items() if info.ordered]
    editing.now[file] = mark + edited(place.file, text, [*_path(address, kind)], values, ordered).encode()


def _path(address: Address, kind: Kind) -> Iterator[str]:
    """`streams`, `ORDERS`, `consumers`, `west`"""
    if kind.place.within:
        parent = REGISTRY[kind.place.within]
        yield from _path(Address(parent.name, address.names[:-1]), parent)
    yield kind.place.section
    yield address.name


def _values(item: Item, desired: Resource, live: Resource, kind: Kind) -> Iterator[tuple[str, Json]]:
    """What the top-level fields are to say; None: nothing any more."""
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
            raise CannotEdit(f"{top} also differs where nobody drifted ({others})")
        value = rendered.get(top)
        yield top, None if value is None else in_units(value, kind.fields[top].unit if top in kind.fields else "text")


def _without_derived(values: dict[str, Json], change: Change, kind: Kind, found: Looked) -> dict[str, Json]:
    """Leave out what the server makes of the other values by itself, such as ack_wait of a backoff."""
    said = change.terms.model_dump(mode="json", exclude_unset=True)
    new = {name for name, value in values.items() if value is not None and name not in said}
    if not new or change.live is None:
        return values
    rest = {name: value for name, value in {**said, **values}.items() if name not in new and value is not None}
    try:
        spec = kind.spec.model_validate(rest)
    except ValidationError:
        return values
    above = Address(kind.place.within, change.address.names[:-1]) if kind.place.within else None
    parent = found.world.live.get(above) if above else None
    context = Context(target=found.snapshot.target, parent=parent, snapshot=found.snapshot)
    settled = kind.settle(Declared(address=change.address, spec=spec), context).config
    made = {name for name in new if name in settled and settled[name] == change.live.config.get(name)}
    return {name: value for name, value in values.items() if name not in made}


def _metadata(fields: Iterable[FieldDrift], said: Mapping[str, str]) -> Json:
    """The file's own keys alone: others are other people's."""
    keys = dict(said)
    for one in fields:
        if one.path == "metadata":
            keys = dict(one.change.live or {}) if one.counts else keys
        elif one.counts:
            key = one.path.removeprefix("metadata.")
            keys = {name: value for name, value in keys.items() if name != key}
            keys |= {} if one.change.live is None else {key: one.change.live}
    return keys or None


def _refused(item: Item, why: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name, address=item.address, span=item.span,
        message=f"the file was not edited here: {why}", fix="edit it by hand",
    )  # fmt: skip


def _not_written(error: OSError) -> Diagnostic:
    why = (error.strerror or str(error)).lower()
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name,
        message=f"Cannot write {error.filename or 'a file'}: {why}. The files were put back as they were.",
        fix="See that it may be written, or edit it by hand.",
    )  # fmt: skip


def _not_as_wanted(found: Sequence[Diagnostic]) -> Diagnostic:
    said = found[0].message if found else "nothing could be read"
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name, span=found[0].span if found else None,
        message=f"What is live is nothing that a file can say: {said}. The files were put back as they were.",
        fix="Edit them by hand, or leave the field as found: `unmanaged`.",
    )  # fmt: skip
