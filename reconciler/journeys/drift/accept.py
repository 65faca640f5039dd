"""`drift accept`: writes live values into the files, in place; comments and layout stay.

It accepts fields only: what to do about an object that is missing, recreated or owned by somebody else is for people to
decide. It writes what drift lists and nothing else, and says each field. It writes the files once, all of them or none,
and only if they will then be read as wanted. A value that cannot be written is named, and keeps no other from being
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from reconciler.changes.verdict import Verdict
from reconciler.documents.parse.files import Disk
from reconciler.documents.parse.tree import decode
from reconciler.documents.read.load import Loaded
from reconciler.documents.write.atomic import write_whole
from reconciler.documents.write.edit import CannotEdit, edited_bytes
from reconciler.journeys.drift.drift import Item, Standing, Written
from reconciler.journeys.drift.live_values import (
    FieldEdit,
    NotExpressed,
    listed_values,
    no_longer_following,
    no_longer_inherited,
    path_in_file,
)
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.plan.files import load
from reconciler.journeys.plan.validate import offline_verdicts
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    written: tuple[Written, ...] = ()
    refused: tuple[Diagnostic, ...] = ()
    """The fields that could not be written, and why."""
    left: Looked
    """The drift that is left with the files as they are now."""


@dataclass(slots=True)
class _Editing:
    """The files as they will be, and as they were."""

    now: dict[Path, bytes] = field(default_factory=dict)
    before: dict[Path, bytes] = field(default_factory=dict)

    def read_as_edited(self, file: Path) -> bytes:
        """Return the contents of a file as edited so far."""
        if file not in self.now:
            self.now[file] = self.before[file] = file.read_bytes()
        return self.now[file]

    def write(self) -> None:
        write_whole({file: data for file, data in self.now.items() if data != self.before[file]})


@dataclass(frozen=True)
class _AsEdited(Disk):
    """The disk as it will be."""

    now: Mapping[Path, bytes]

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        return decode(str(path), self.now[path]) if path in self.now else super().read(path)


def accept(looked: Looked, paths: Sequence[Path], options: RunOptions) -> Accepted:
    """Edit the files: write every value that can be written, and report the others. Raises CannotContinue where the
    files cannot be read or written."""
    done = _Acceptance(looked, paths, options).accept_items()
    if done.left is None:  # one value is at fault: each is read again as soon as it is written
        done = _Acceptance(looked, paths, options, is_wary=True).accept_items()
    if refused := done.newly_refused():  # with what waits to be applied
        done = _Acceptance(looked, paths, options, is_wary=done.is_wary, doubtful=refused).accept_items()
    if done.left is None:
        raise _not_as_wanted_error(done.loaded.diagnostics)
    try:
        done.editing.write()
    except OSError as error:
        raise _not_written_error(error) from None
    return Accepted(written=tuple(done.written), refused=tuple(done.refused), left=done.left)


@dataclass(slots=True)
class _Acceptance:
    """What becomes of the files, object by object."""

    found: Looked
    paths: Sequence[Path]
    options: RunOptions
    is_wary: bool = False
    """Keep no value with which the files can no longer be read."""
    doubtful: Collection[str] = ()
    """Objects of which no value is kept with which the next plan is refused."""
    editing: _Editing = field(default_factory=_Editing)
    written: list[Written] = field(default_factory=list)
    refused: list[Diagnostic] = field(default_factory=list)
    loaded: Loaded = field(init=False)
    left: Looked | None = None
    """The drift that is left with the files as they will be; None: they cannot be read."""

    def accept_items(self) -> _Acceptance:
        for item in self.found.drift.drifted:
            if any(drifting.is_drift for drifting in item.fields):
                self._accept_item(item)
        self._look_again()
        if self.left and self._keep_inherited_values(self.left):
            self._look_again()
        return self

    def _look_again(self) -> None:
        self.loaded = self._load()
        self.left = self._look(self.loaded)

    def _keep_inherited_values(self, left: Looked) -> bool:
        """Keep objects as they are live that would inherit what was written of others. False: there are none."""
        written = len(self.written)
        for address, change in left.view.changes.items():
            before = self.found.view.changes.get(address) if change.fields else None
            if before and (edits := no_longer_inherited(before, change, left)):
                item = Item(address=str(address), standing=Standing.PENDING, span=change.where(""))
                self._remember_written_fields(item, self._edit_each(item, edits))
        return len(self.written) > written

    def newly_refused(self) -> set[str]:
        """Return the objects that were written and that the next plan refuses, unless it refused them before."""
        written = {written_value.address for written_value in self.written} if self.left else set[str]()
        return {address for address in written if self.left and self._refusal(address, self.left)}

    def _refusal(self, address: str, left: Looked) -> Verdict | None:
        """Why it can no longer be applied."""
        before, now = (
            [verdict for verdict in _verdicts_on(address, looked) if verdict.is_final] for looked in (self.found, left)
        )
        before_codes = {verdict.code for verdict in before}
        return next((verdict for verdict in now if verdict.code not in before_codes), None)

    def _load(self) -> Loaded:
        return load(self.paths, _AsEdited(self.editing.now))

    def _look(self, loaded: Loaded) -> Looked | None:
        return look(loaded.topology, self.found.view.snapshot, self.options) if loaded.topology is not None else None

    def _accept_item(self, item: Item) -> None:
        edits, lost = listed_values(item, self.found)
        self.refused += (
            _refusal_of(item, lost_value.name, lost_value.why, _what_else_advice(item, lost_value))
            for lost_value in lost
        )
        edits_made = self._edit_each(item, edits)
        values = {edit.name: edit.value for edit in edits_made}
        edits_made += self._edit_each(item, no_longer_following(values, item, self.found))
        self._remember_written_fields(item, edits_made)

    def _remember_written_fields(self, item: Item, edits: Sequence[FieldEdit]) -> None:
        self.written += (
            Written(address=item.address, field=written, span=written.span or item.span)
            for edit in edits
            for written in edit.fields
        )

    def _edit_each(self, item: Item, edits: Sequence[FieldEdit]) -> list[FieldEdit]:
        """Write all of them, or those that can be written, and return these."""
        if not edits:
            return []
        try:
            self._edit(item, edits)
        except (CannotEdit, OSError, UnicodeDecodeError) as why:
            if len(parts := _separate_edits(edits)) > 1:
                return [made for part in parts for made in self._edit_each(item, part)]
            reason = (why.strerror if isinstance(why, OSError) else None) or str(why)
            self.refused += (_refusal_of(item, edit.name, reason) for edit in edits)
            return []
        return list(edits)

    def _edit(self, item: Item, edits: Sequence[FieldEdit]) -> None:
        """Edit the declaration of an object. Raises CannotEdit and leaves it alone where that cannot be done."""
        address = Address.parse(item.address)
        change, kind = self.found.view.changes[address], REGISTRY.of(address)
        span = change.where("")
        if span is None or change.live is None or change.desired is None:
            raise CannotEdit("no file declares it")
        file = Path(span.file)
        before = self.editing.read_as_edited(file)
        values = {edit.name: edit.value for edit in edits}
        ordered = [name for name, info in kind.fields.items() if info.ordered]
        after = edited_bytes(span.file, before, [*path_in_file(address, kind)], values, ordered)
        self.editing.now[file] = after
        if why := self._problem_after_edit(item):
            self.editing.now[file] = before
            raise CannotEdit(why)

    def _problem_after_edit(self, item: Item) -> str:
        """Load the files as edited, and say why the next plan would refuse them; empty if it would not."""
        if not self.is_wary and item.address not in self.doubtful:
            return ""
        loaded = self._load()
        if loaded.topology is None:
            return loaded.diagnostics[0].message
        left = self._look(loaded) if item.address in self.doubtful else None
        refusal = self._refusal(item.address, left) if left else None
        return f"with it, the next plan is refused ({refusal.code}): {refusal.message}" if refusal else ""


EITHER = (frozenset({"members", "member_mappings"}), frozenset({"filter_subject", "filter_subjects"}))
"""Fields of which a file has one or the other: one that left the file alone would leave the object without both."""


def _separate_edits(edits: Sequence[FieldEdit]) -> list[list[FieldEdit]]:
    """Split them into those that can be written without each other."""
    parts: dict[object, list[FieldEdit]] = {}
    for edit in edits:
        key = next((names for names in EITHER if edit.name in names), edit.name)
        parts.setdefault(key, []).append(edit)
    return [*parts.values()]


def _verdicts_on(address: str, looked: Looked) -> Iterator[Verdict]:
    """What the rules say of its change, and of its declaration alone: what equals the live object has no change."""
    yield from looked.verdicts.get(Address.parse(address), ())
    yield from (
        verdict
        for verdict in offline_verdicts(looked.topology, looked.view.target.version)
        if verdict.address == address
    )


def _what_else_advice(item: Item, lost: NotExpressed) -> str:
    stays = any(drifting.stays for drifting in item.fields if drifting.change.top == lost.name)
    if not lost.left_out:
        return IN_A_PLAN if stays else BY_HAND
    is_refused = bool(item.refusals)  # a restoration of the object is refused as a whole
    back = "put the value back (`drift restore`), or " if item.is_ours and not (stays or is_refused) else ""
    return f"{back}leave it as found: unmanaged: [{lost.left_out}]"


BY_HAND = "edit it by hand"
IN_A_PLAN = "see in a plan what to do about it"


def _refusal_of(item: Item, name: str, why: str, fix: str = BY_HAND) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="DR121", name=PAGES["DR121"].name, address=item.address, span=item.span,
        message=f"{name} was not written into the file: {why}", fix=fix,
    )  # fmt: skip


def _not_written_error(error: OSError) -> CannotContinue:
    why = (error.strerror or str(error)).lower()
    message = f"Cannot write {error.filename or 'a file'}: {why}. No file was changed."
    fix = "Check that it may be written, or edit it by hand."
    return CannotContinue.because("DR121", PAGES["DR121"].name, message, fix=fix)


def _not_as_wanted_error(problems: Sequence[Diagnostic]) -> CannotContinue:
    first = problems[0].message if problems else "nothing could be read"
    message = f"No file can express the live values: {first}. No file was changed."
    fix = "Edit the files by hand, or leave the field as found: `unmanaged`."
    span = problems[0].span if problems else None
    return CannotContinue.because("DR121", PAGES["DR121"].name, message, fix=fix, span=span)
