"""A resource as the engine sees it: an address, a canonical configuration and what its owner wrote about it.

Canonical form is *sparse*: a field whose value is what the server would use anyway is absent. So empty equals absent
equals default, a new server version that echoes one more default changes nothing, and an export shows what matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import date
from functools import cache, lru_cache
from typing import Annotated, Any, NamedTuple, Protocol, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.units import BYTES_PATTERN, number_or, parse_bytes, parse_count

Json = Any
"""A JSON value as `json.loads` gives it."""

Config = Mapping[str, Json]
"""Top-level fields of a configuration by their names in the file; values are raw (nanoseconds, bytes)."""

Where = Callable[[str], SourceSpan | None]
"""Finds the place of a dotted path (`sources[1].filter_subject`); an unknown path gives its nearest parent's place."""


def users_metadata(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out the metadata that servers write themselves; an empty text is a value like any other."""
    return {key: text for key, text in metadata.items() if not key.startswith("_nats.")}


def nowhere(_path: str) -> SourceSpan | None:
    """The place of things that stand in no file."""
    return None


class Address(NamedTuple):
    """The name of a resource in files, plans and messages: `consumer/ORDERS/dispatch`."""

    kind: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, *names: str) -> Address:
        """`Address.of("consumer", "ORDERS", "dispatch")` is `consumer/ORDERS/dispatch`."""
        return cls(kind, names)

    @classmethod
    @lru_cache(maxsize=1 << 14)  # the same ones again and again
    def parse(cls, text: str) -> Address:
        """Read text such as `stream/ORDERS`; the kind need not exist. Raises ValueError where a kind or name is
        missing."""
        kind, *names = text.split("/")
        if not names or not all((kind, *names)):
            raise ValueError(f"`{text}` is not an address; write kind/name, for example stream/ORDERS")
        return cls(kind, tuple(names))

    @property
    def name(self) -> str:
        """Its own name, which is the last one: `dispatch` in `consumer/ORDERS/dispatch`."""
        return self.names[-1]

    @property
    def stream(self) -> str:
        """The stream a nested resource belongs to; for others, the resource's own name."""
        return self.names[0]

    def __str__(self) -> str:
        return "/".join((self.kind, *self.names))


def text_like(pattern: str, advice: str) -> WithJsonSchema:
    """Describe a field of text: what schemas say of it, and what a message tells a person to write where quotes would
    not help."""
    return WithJsonSchema({"type": "string", "pattern": pattern, "advice": advice})


class Spec(BaseModel):
    """What people write, checked: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False, defer_build=True)


def model_in(annotation: Any) -> type[BaseModel]:
    """The model in `X | None` or `tuple[X, ...] | None`; BaseModel itself, which has no fields, when there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (model_in(part) for part in get_args(annotation) if part is not Ellipsis)
    return next((model for model in inner if model is not BaseModel), BaseModel)


def _parse_bounds(bounds: Any) -> Any:
    """Read each in the unit of what it bounds."""
    if not isinstance(bounds, dict):
        return bounds
    return {name: parse_bytes(most) if name == "bytes" else parse_count(most) for name, most in bounds.items()}


OF_A_RULE = 2
"""How many letters the codes of reconciler's own rules begin with; those of policies begin with more."""


class Consent(Spec):
    """Permission for one harmful change, written where a reviewer sees it."""

    code: str = Field(pattern=r"^[A-Z]{2,12}\d{3}$")
    """The rule that this consents to, for example `ST101`; or the policy that this waives, for example `ACME101`."""
    to: Json = None
    """The value that this consents to, so that an old consent never covers a new change. Left out: none, for rules
    about something else than a value."""
    reason: str = Field(min_length=1)
    """Why this is right, in words that a reviewer can judge."""
    until: date | None = Field(default=None, validate_default=True)
    """The last day on which this consent counts, in UTC by the clock of the server. A waiver of a policy must have one.
    Left out: it never ends."""
    upto: Annotated[
        dict[str, int],
        BeforeValidator(_parse_bounds),
        WithJsonSchema({"type": "object", "additionalProperties": number_or(rf"^[0-9][0-9_]*$|{BYTES_PATTERN}")}),
    ] = Field(default_factory=dict)
    """How much may be lost at most, for example `{messages: 1_000, bytes: 20GiB}`. Left out: twice what the plan
    says."""

    @field_validator("until")
    @classmethod
    def _a_waiver_ends(cls, until: date | None, info: ValidationInfo) -> date | None:
        if until is None and len(str(info.data.get("code", "")).rstrip("0123456789")) > OF_A_RULE:
            raise PydanticCustomError(
                "wrong_value", "a waiver of policy {code} has no end; write the last day on which it counts, for example "
                "`until: {year}-12-31`", {"code": info.data["code"], "year": date.today().year},
            )  # fmt: skip
        return until


class Terms(Spec):
    """What every resource may say about itself that is ours alone and never sent to a server."""

    protect: bool = False
    """Never delete or replace this, whatever consent says. Never sent to a server."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Key-value pairs to select by, to consent by, and to report by. Never
    sent to a server with the object; its record in the ledger keeps them. Left out: none."""
    unmanaged: tuple[str, ...] = ()
    """Paths of fields to leave as found: not compared, not remembered, not sent to a server."""
    allow: tuple[Consent, ...] = ()
    """Consent to harmful changes of this resource, by rule and value. Consent for many stands at the top level of
    the file. Never sent to a server."""


class _Ending(Protocol):
    @property
    def until(self) -> date | None: ...


def is_over(entry: _Ending, today: date) -> bool:
    """Has its last day passed? An entry without `until` never ends."""
    return entry.until is not None and today > entry.until


def owner_in(terms: Terms) -> str | None:
    """Return the other topology that these say manages the resource (`external: {from: topology/orders}`)."""
    external = vars(terms).get("external")
    return external.topology if isinstance(external, OtherOwner) else None


@cache
def no_terms() -> Terms:
    """Return the terms of what nobody wrote anything about: the same for thousands of live resources."""
    return Terms()


OWNER = "topology/"
"""Begins the name of an owner, as `stream/` begins that of a stream."""


def _check_owner(text: str) -> str:
    if not text.startswith(OWNER) or text == OWNER:
        raise PydanticCustomError(
            "wrong_value", "`{value}` is no owner; write topology/NAME, for example topology/orders", {"value": text}
        )
    return text


class OtherOwner(Spec):
    """The topology that manages a stream which this one uses."""

    from_: Annotated[
        str, AfterValidator(_check_owner), text_like(f"^{OWNER}.+$", "topology/NAME, for example topology/orders")
    ] = Field(alias="from")
    """The topology that owns the stream, for example `topology/orders`. A plan refuses to go on where the ledger does
    not say so."""
    stream: str | None = None
    """The name of the stream once more. Left out: the name under which the file declares it."""

    @property
    def topology(self) -> str:
        """Return the owner's name."""
        return self.from_.removeprefix(OWNER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A resource as written in a file."""

    address: Address
    spec: Terms
    where: Where = nowhere

    @property
    def external(self) -> bool:
        """Someone else manages it, the file says."""
        return bool(vars(self.spec).get("external"))  # most kinds have no such field

    @property
    def owner(self) -> str | None:
        """The topology that manages it, where the file names one."""
        return owner_in(self.spec)


@dataclass(frozen=True, slots=True)
class ServerDefault:
    """What becomes of a field that the file leaves out: the server fills in a value of its own."""

    value: Json
    """What is expected: the stock default, or what this server filled in when we wrote the object. None: nothing."""
    most: Json = None
    """A server with limits of its own may fill in any number up to this one. None: it fills in the stock default."""
    source: str = "default"
    """Where the value comes from, in words: `from consumer_limits`."""
    stays: bool = False
    """What decided it when the object was written is gone, and the server keeps what it had."""

    def could_be(self, value: Json) -> bool:
        """Could a server have filled this in?"""
        if value == self.value or self.most is None:
            return bool(value == self.value)
        return isinstance(value, int) and 0 < value <= self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource in canonical form, wanted or live."""

    address: Address
    config: Config
    """Canonical and sparse: what differs from the server's fixed defaults."""
    filled: Mapping[str, ServerDefault] = field(default_factory=dict)
    """Fields the file leaves out and the server fills in. `config` holds the expected values; they are never sent."""
    follows: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Other fields that hold something else than the file says, and where that comes from, in words: `from backoff`."""
    stock: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """What stands for fields that `config` leaves out, where that is peculiar to this one: `ack_wait` is 30s or nothing."""
    terms: Terms = field(default_factory=no_terms)
    where: Where = nowhere
    state: Mapping[str, Json] = field(default_factory=dict)
    """Live only: the server's answer this was recognised from (INFO reply, or record and revision), untouched."""
    external: bool = False
    """Someone else manages it; what is written here are expectations."""
    uses: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Streams that it reads of another topology, and the name of that topology, as far as its file says it."""

    def leaves_to_server(self, name: str) -> bool:
        """Does this field hold what the server fills in by itself?"""
        filled = self.filled.get(name)
        return filled is not None and not filled.stays and self.config.get(name) == filled.value

    @property
    def why_unreadable(self) -> str:
        """Why nobody can tell what it is like, although it is live: its record is broken. Empty: it can be read."""
        return str(self.state.get("broken") or "")

    @property
    def sent(self) -> Config:
        """The configuration as it is sent when this is created."""
        config = self.config
        left = [name for name, default in self.filled.items() if name in config and config[name] == default.value]
        if not left:
            return config
        sent = dict(config)
        for name in left:
            del sent[name]
        return sent
