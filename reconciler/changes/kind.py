"""The questions every kind of resource answers, as one frozen record of functions; the engine knows kinds only by these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from reconciler.changes.diff import Change, Consequence
from reconciler.changes.renaming import Recipe, copied
from reconciler.changes.rule import Rule
from reconciler.changes.stages import Opening, Tie
from reconciler.changes.view import View, backed_by
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Address, Config, Declared, Json, Resource, Terms
from reconciler.model.wire.questions import Question
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Step


class FilePlace(NamedTuple):
    """Where a kind stands in a file."""

    section: str
    """The key that holds resources of this kind by name: `streams`, `consumers`, `groups`."""
    within: str | None = None
    """The kind whose resources hold this section; None at top level."""
    tag: tuple[str, str] | None = None
    """Key and value that tell kinds sharing a section apart: `("type", "elastic")`."""
    names: str = ".+"
    """The names it may have, as a pattern: no advice leads to others."""


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
    """By stream, what those declared lend to whatever copies them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """How one object is deleted and made anew where it stood, in steps that follow one another."""

    before: Sequence[Step] = ()
    """What must be in place, and known, before the old object may go."""
    swap: Sequence[Step]
    """The old one goes, the new one comes."""
    back: Step | None = None
    """Makes the old one again where it stood, should the server refuse the new one after all."""
    start: Config = field(default_factory=dict)
    """Fields the new one is made with instead of the file's words (null: without), as far as they are known now."""
    bound: Mapping[str, str] = field(default_factory=dict)
    """What only a step knows, by its place in the intent (`start.opt_start_seq`, `notes.resume`) → the step's id."""
    notes: Config = field(default_factory=dict)
    """What `tidy` must find again."""


class Bound(NamedTuple):
    """How much of a kind one apply may delete or replace without a word about it in the file: so many of them, or such a share
    of what is owned, whichever is more.

    Small numbers are everyday work, and a share lets large topologies do theirs; beyond both, most often the path, the branch
    or the account is wrong. `guards:` in the file raises a number, where a reviewer sees it.
    """

    floor: int
    percent: int


ANY = Bound(floor=1 << 31, percent=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Everything the engine may ask about a kind. Adding a kind is one place and one registry line."""

    name: str
    family: str
    """First letters of its rule codes: ST, CO, KV, OB, SG, EG."""
    title: str
    """Its objects, as a heading: `KV buckets`."""
    place: FilePlace
    spec: type[Terms]
    fields: Mapping[str, FieldInfo]
    recognise: Callable[[Snapshot], Iterable[Resource]]
    """Live resources of this kind, canonical; ephemerals and what looks only similar are left out."""
    claims: Callable[[Snapshot], Iterable[Raw]]
    """Live raw objects that are of this kind by their looks, where no later kind of the registry says so too."""
    settle: Callable[[Declared, Context], Resource]
    """Canonical form of what is written: what the server would echo for it."""
    steps: Callable[[Change, View], Sequence[Step]]
    """Primitive calls that carry out a change in the manner decided for it."""
    render: Callable[[Resource], Mapping[str, Json]]
    """What stands in a file for this live resource; nested sections are added by the caller."""
    primary: Callable[[Address], Raw]
    """The raw object whose existence is this resource's existence."""
    backing: str | None = None
    """How the name of the stream begins that each of them is, and that holds its messages; None: they are none."""
    as_stream: Callable[[Resource], Config] = lambda resource: resource.config
    """The configuration of that stream."""
    own_name: Callable[[str], str] = str
    """What it calls a field of that stream."""
    reserves: str = "max_bytes"
    """The field by which it reserves room in the account."""
    recipe: Recipe = copied
    """The steps that give it another name, which no server does."""
    bound: Bound = ANY
    derived: Callable[[Address], Iterable[Raw]] = lambda _address: ()
    """Raw objects that belong to it beside that one."""
    rules: tuple[Rule, ...] = ()
    needs: Callable[[Resource], Iterable[str]] = lambda _resource: ()
    """Streams that must exist before this can be made, beside its parent's (origins of mirrors and sources)."""
    inherits: tuple[str, ...] = ()
    """Fields of the parent that this kind's own left-out fields follow from, or that decide what a server accepts of it."""
    lends: Callable[[Declared], Mapping[str, Config]] | None = None
    """By stream, what streams that copy it take over from it."""
    questions: Callable[[Change, View], Iterable[Question]] = lambda _change, _view: ()
    """Reads that depend on the change, and on the answers to earlier ones in `View.facts`."""
    consequences: Callable[[Change, View], Iterable[Consequence]] = lambda _change, _view: ()
    """What the change does to messages and clients, in quantities."""
    replace: Callable[[Change, View], Replacement] | None = None
    """How a change that replaces is carried out; None where no rule of the kind ever lets one."""
    starts: tuple[str, ...] = ()
    """Fields that say where an object begins when it is made."""
    begins: Callable[[Resource, Resource, Snapshot], Iterable[str]] = lambda _desired, _live, _snapshot: ()
    """Those of them that the live one heeds no more, since it has moved on from there."""
    resume: Callable[[Change, View], Config] = lambda change, _view: change.intent.start if change.intent else {}
    """The start (as in `Replacement`) with which a replacement is finished whose old object is gone."""
    tidy: Callable[[Change, View], Sequence[Step]] = lambda _change, _view: ()
    """What an unfinished replacement (`change.intent`) leaves to be cleared away once its object is as wanted."""
    renames: bool = False
    """What replaces it may have another name under the same parent."""
    stands: Callable[[Change, View], bool] = lambda _change, _view: False
    """Is part of the old object still there, though itself is gone? Then its replacement goes on from the beginning."""
    remains: Callable[[Address, Snapshot], bool] = lambda _address, _snapshot: False
    """Is part of it still there, though itself is gone? Then a removal that was cut off goes on."""
    unknown: Callable[[Address, Snapshot], str | None] = lambda _address, _snapshot: None
    """Why nobody can say what is live at this address; None when the snapshot can."""

    def stream(self, address: Address) -> str | None:
        """The stream behind a resource; None where there is none of its own."""
        raws = (self.primary(address), *self.derived(address))
        return next((raw.on[0] for raw in raws if raw.type == "stream"), None)

    def records(self, address: Address) -> str | None:
        """The bucket that holds its record, where it has one."""
        raw = self.primary(address)
        return raw.on[0] if raw.type == "entry" else None


@dataclass(frozen=True, slots=True)
class Registry:
    """The kinds we have, by name; edges are handed this instead of importing kinds."""

    kinds: tuple[Kind, ...]
    across: tuple[Rule, ...] = ()
    """Rules about several resources."""
    order: Callable[[View], Iterable[Tie]] = lambda _view: ()
    """Which changes a server accepts only in this order, beside parents and needs."""
    opening: Callable[[Change, frozenset[str], View], Opening | None] = lambda _change, _gives, _view: None
    """The first of two stages of an update: what these of its fields give to others, and nothing taken yet. None: it
    cannot be made in two."""
    by_name: Mapping[str, Kind] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {kind.name: kind for kind in self.kinds})

    def __getitem__(self, name: str) -> Kind:
        return self.by_name[name]

    def of(self, address: Address) -> Kind:
        """The kind of this address. Raises KeyError where there is none of that name."""
        return self.by_name[address.kind]

    def holds(self, address: Address) -> bool:
        """Is there such a kind, and does it have so many names? A later version has others."""
        kind = self.by_name.get(address.kind)
        return kind is not None and len(address.names) == (2 if kind.place.within else 1)

    def backed_by(self, stream: str) -> Iterator[Address]:
        """Every resource that a stream of this name may be: both `stream/KV_x` and `kv_bucket/x` for `KV_x`."""
        return backed_by(stream, self.by_name)

    def within(self, parent: str | None) -> tuple[Kind, ...]:
        """Kinds whose sections stand directly under `parent` (None: at top level)."""
        return tuple(kind for kind in self.kinds if kind.place.within == parent)

    def rules(self) -> tuple[Rule, ...]:
        """Rules of each kind, in the order of the kinds, and then those about several resources."""
        return (*(rule for kind in self.kinds for rule in kind.rules), *self.across)


def declared_config(spec: Terms, ours: frozenset[str]) -> Config:
    """The fields a spec really says, in raw JSON values, without what is `ours` alone."""
    return spec.model_dump(mode="json", exclude_unset=True, exclude=set(ours), warnings=False)


def as_found(declared: Declared, live: Resource | None, kind: Kind) -> Declared:
    """With live's values in fields that are left as found, since the defaults of others may follow from them. A newer
    server's value need not be one this spec knows."""
    spec = declared.spec
    left = {name for name in spec.unmanaged if name in kind.fields and not _is_required(spec, name)}
    if not left:
        return declared
    found = kind.render(live) if live else {}
    values = {name: getattr(spec, name) for name in spec.model_fields_set - left}
    values |= {name: found[name] for name in left if name in found}
    return replace(declared, spec=type(spec).model_construct(**values))


def _is_required(spec: Terms, name: str) -> bool:
    field = type(spec).model_fields.get(name)
    return field is not None and field.is_required()
