"""The questions that every kind of resource answers, as one frozen record of functions; the engine knows kinds only by
these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, NamedTuple

from reconciler.changes.change import Change, Consequence, FieldChange
from reconciler.changes.renaming import Recipe, simple_recipe
from reconciler.changes.rule import Rule
from reconciler.changes.stages import FirstStage, Tie
from reconciler.changes.view import SubjectsRead, View, backed_by
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Address, Config, Declared, Json, Resource, Terms
from reconciler.model.wire.questions import Question
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Step


class FilePlace(NamedTuple):
    """Where a file states resources of a kind."""

    section: str
    """The key that holds resources of this kind by name: `streams`, `consumers`, `groups`."""
    within: str | None = None
    """The kind whose resources hold this section; None at top level."""
    tag: tuple[str, str] | None = None
    """Key and value that distinguish kinds in the same section: `("type", "elastic")`."""
    names: str = ".+"
    """The names it may have, as a pattern: no advice suggests others."""


class Raw(NamedTuple):
    """A raw object of the server: ("stream", ("KV_x",)), ("consumer", ("S", "c")) or ("entry", ("bucket", "key"))."""

    type: Literal["stream", "consumer", "entry"]
    on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What surrounds a resource when it is settled: the target, and its parent in the form it will have after apply."""

    target: Target
    parent: Resource | None = None
    snapshot: Snapshot | None = None
    lent: Mapping[str, Config] = field(default_factory=dict)
    """By stream, what declared streams pass on to their copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """How one object is deleted and recreated at its position, in steps that follow one another."""

    before: Sequence[Step] = ()
    """What must exist, and be known, before the old object may be deleted."""
    swap: Sequence[Step]
    """The steps that delete the old object and create the new one."""
    back: Step | None = None
    """Recreates the old object at its position, if the server refuses the new one after all."""
    start: Config = field(default_factory=dict)
    """Fields with which the new object is created instead of the file's (null: without), as far as they are known
    now."""
    bound: Mapping[str, str] = field(default_factory=dict)
    """Values that only a step knows, by their place in the intent (`start.opt_start_seq`, `notes.resume`) → the step's
    id."""
    notes: Config = field(default_factory=dict)
    """What `tidy` must find again."""


class Bound(NamedTuple):
    """How many resources of a kind one apply may delete or replace if the file says nothing about it: this number, or
    this share of what is owned, whichever is more.

    Small numbers are everyday work, and a share lets large topologies do theirs. Beyond both, usually the path, the
    branch or the account is wrong. `guards:` in the file raises a number, where a reviewer sees it.
    """

    floor: int
    percent: int


ANY = Bound(floor=1 << 31, percent=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Everything that the engine may ask about a kind. Adding a kind takes one place and one registry line; one that is
    a key of a bucket also needs its bucket among those that are read (`ENTRY_BUCKETS` of `model/ledger/records.py`)."""

    name: str
    family: str
    """First letters of its rule codes: ST, CO, KV, OB, SG, EG."""
    title: str
    """Its objects, as a heading: `KV buckets`."""
    place: FilePlace
    spec: type[Terms]
    fields: Mapping[str, FieldInfo]
    recognise: Callable[[Snapshot], Iterable[Resource]]
    """Live resources of this kind, canonical; without ephemerals and without objects that only look similar."""
    claims: Callable[[Snapshot], Iterable[Raw]]
    """Live raw objects that look like this kind, unless a later kind of the registry claims them too."""
    deviations: Callable[[Address, Config, Snapshot], Config] = lambda _address, _config, _snapshot: {}
    """What the stream of such an object has that no declared one of this kind can have, by the kind's own field; null for
    what it lacks. With any of that, another kind claims it."""
    settle: Callable[[Declared, Context], Resource]
    """The canonical form of what is written: what the server would echo for it."""
    steps: Callable[[Change, View], Sequence[Step]]
    """Primitive calls that carry out a change in the manner decided for it."""
    render: Callable[[Resource], Mapping[str, Json]] = lambda resource: dict(resource.config)
    """What a file says for this live resource; the caller adds nested sections. It includes a bucket's deviations from its
    shape. No file can state these, so whoever writes a file leaves them unmanaged."""
    primary: Callable[[Address], Raw]
    """The raw object whose existence is this resource's existence."""
    backing: str | None = None
    """The beginning of the name of the stream that each of them is, and that holds its messages; None: they are no
    streams."""
    as_stream: Callable[[Resource], Config] = lambda resource: resource.config
    """The configuration of that stream."""
    own_name: Callable[[str], str] = str
    """The kind's own name for a field of that stream."""
    reserves: str = "max_bytes"
    """The field by which it reserves room in the account."""
    recipe: Recipe = simple_recipe
    """The steps that give it another name, which no server does itself."""
    bound: Bound = ANY
    reads: Callable[[Address, Config], Iterable[SubjectsRead]] = lambda _address, _config: ()
    """What a resource of this configuration reads of streams of this account, live or as it was recorded."""
    derived: Callable[[Address], Iterable[Raw]] = lambda _address: ()
    """Raw objects that belong to it beside the primary one."""
    rules: tuple[Rule, ...] = ()
    needs: Callable[[Resource], Iterable[str]] = lambda _resource: ()
    """Streams that must exist before this can be created, beside its parent's (origins of mirrors and sources)."""
    inherits: tuple[str, ...] = ()
    """Fields of the parent from which this kind's left-out fields follow, or that decide what a server accepts of
    it."""
    lends: Callable[[Declared], Mapping[str, Config]] | None = None
    """By stream, what its copies take over from it."""
    questions: Callable[[Change, View], Iterable[Question]] = lambda _change, _view: ()
    """Reads that depend on the change, and on the answers to earlier ones in `View.facts`."""
    consequences: Callable[[Change, View], Iterable[Consequence]] = lambda _change, _view: ()
    """What the change does to messages and clients, in quantities."""
    adrift: Callable[[Change, View], Iterable[FieldChange]] = lambda _change, _view: ()
    """Parts of the live object that are no longer as they were created, and that no apply changes."""
    replace: Callable[[Change, View], Replacement] | None = None
    """How a change that replaces is carried out; None if no rule of the kind ever allows one."""
    starts: tuple[str, ...] = ()
    """Fields that say where a new object starts."""
    begins: Callable[[Resource, Resource, Snapshot], Iterable[str]] = lambda _desired, _live, _snapshot: ()
    """Those start fields that no longer matter to the live object, since it has moved on."""
    resume: Callable[[Change, View], Config] = lambda change, _view: change.intent.start if change.intent else {}
    """The start (as in `Replacement`) with which a replacement is finished if its old object is already deleted."""
    tidy: Callable[[Change, View], Sequence[Step]] = lambda _change, _view: ()
    """Steps that clean up after an unfinished replacement (`change.intent`) once its object is as wanted."""
    renames: bool = False
    """Its replacement may have another name under the same parent."""
    stands: Callable[[Change, View], bool] = lambda _change, _view: False
    """Does part of the old object still exist, although the object itself is deleted? Then its replacement starts
    over."""
    remains: Callable[[Address, Snapshot], bool] = lambda _address, _snapshot: False
    """Does part of it still exist, although the object itself is deleted? Then an interrupted removal continues."""
    unknown: Callable[[Address, Snapshot], str | None] = lambda _address, _snapshot: None
    """Why nobody can tell what is live at this address; None if the snapshot can."""

    @property
    def section(self) -> str:
        """The key of files that holds its objects."""
        return self.place.section

    def stream(self, address: Address) -> str | None:
        """The stream behind a resource; None if it has none of its own."""
        raws = (self.primary(address), *self.derived(address))
        return next((raw.on[0] for raw in raws if raw.type == "stream"), None)

    def record_bucket(self, address: Address) -> str | None:
        """The bucket that holds its record, if it has one."""
        raw = self.primary(address)
        return raw.on[0] if raw.type == "entry" else None


@dataclass(frozen=True, slots=True)
class Registry:
    """The kinds by name; edges get this instead of importing kinds."""

    kinds: tuple[Kind, ...]
    across: tuple[Rule, ...] = ()
    """Rules about several resources."""
    order: Callable[[View], Iterable[Tie]] = lambda _view: ()
    """Changes that a server accepts only in this order, beside parents and needs."""
    first_stage: Callable[[Change, frozenset[str], View], FirstStage | None] = lambda _change, _gives, _view: None
    """The first of two stages of an update: it gives to others what these of its fields give, and takes nothing yet.
    None: the update cannot be made in two stages."""
    by_name: Mapping[str, Kind] = field(init=False)
    _sections: Mapping[str | None, Mapping[str, tuple[Kind, ...]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {kind.name: kind for kind in self.kinds})
        sections: dict[str | None, dict[str, tuple[Kind, ...]]] = {}
        for kind in self.kinds:
            beside = sections.setdefault(kind.place.within, {})
            beside[kind.section] = (*beside.get(kind.section, ()), kind)
        object.__setattr__(self, "_sections", sections)

    def __getitem__(self, name: str) -> Kind:
        return self.by_name[name]

    def of(self, address: Address) -> Kind:
        """The kind of this address. Raises KeyError if no kind has that name."""
        return self.by_name[address.kind]

    def holds(self, address: Address) -> bool:
        """Does such a kind exist, and does it have this many names? A later version has others."""
        kind = self.by_name.get(address.kind)
        return kind is not None and len(address.names) == (2 if kind.place.within else 1)

    def backed_by(self, stream: str) -> Iterator[Address]:
        """Every resource that a stream of this name may be: both `stream/KV_x` and `kv_bucket/x` for `KV_x`."""
        return backed_by(stream, self.by_name)

    def within(self, parent: str | None) -> tuple[Kind, ...]:
        """Kinds whose sections are directly under `parent` (None: at top level)."""
        return tuple(kind for kind in self.kinds if kind.place.within == parent)

    def sections(self, parent: str | None) -> Mapping[str, tuple[Kind, ...]]:
        """The sections directly under `parent` (None: at top level), each with the kinds that share it."""
        return self._sections.get(parent, {})

    def parent_of(self, address: Address) -> Address | None:
        """The resource in whose section this one stands, such as a consumer's stream; None at the top level."""
        within = self.of(address).place.within
        return Address(within, address.names[:-1]) if within else None

    def rules(self) -> tuple[Rule, ...]:
        """Rules of each kind, in the order of the kinds, and then those about several resources."""
        return (*(rule for kind in self.kinds for rule in kind.rules), *self.across)


_OURS = {*Terms.model_fields, "external"}


def declared_config(spec: Terms) -> Config:
    """The fields that a spec really states, in raw JSON values, without those of reconciler's own."""
    return spec.model_dump(mode="json", exclude_unset=True, exclude=_OURS, warnings=False)


def as_found(declared: Declared, live: Resource | None, kind: Kind) -> Declared:
    """The declaration, with live values in fields that are left as found, since the defaults of others may follow from
    them. A newer server's value need not be one that this spec knows."""
    spec = declared.spec
    left = {name for name in spec.unmanaged if name in kind.fields and not _is_required(spec, name)}
    if not left:
        return declared
    rendered = kind.render(live) if live else {}
    values = {name: getattr(spec, name) for name in spec.model_fields_set - left}
    values |= {name: rendered[name] for name in left if name in rendered}
    return replace(declared, spec=type(spec).model_construct(**values))


def _is_required(spec: Terms, name: str) -> bool:
    field = type(spec).model_fields.get(name)
    return field is not None and field.is_required()
