"""A change: what is wanted compared with what is live, at one address, with the fields that differ and who changed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from reconciler.changes.amount import Amounts
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.intents import Intent
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Consent, Json, Resource, Terms, Where, no_terms, nowhere
from reconciler.model.shape import ALWAYS, INLINE, Name


class Action(StrEnum):
    """What happens to a resource."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    """Deleted and recreated at its position; if nothing is live, or the new object is live, a replacement is
    finished."""
    DELETE = "delete"
    ADOPT = "adopt"
    """Live already equals the file; only the record is new."""
    KEEP = "keep"
    FORGET = "forget"
    """No longer owned; the object stays."""
    ORPHAN = "orphan"
    """Owned and live, but no longer declared: listed and kept."""
    UNKNOWN = "unknown"
    """Nobody can tell what is live; nothing is done."""
    ABSENT = "absent"
    """Neither live nor wanted."""

    @property
    def writes(self) -> bool:
        """A plan with one of these is not empty."""
        return self in _WRITING


_WRITING = (Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE)


class FieldClass(StrEnum):
    """Who changed a field since it was last applied."""

    PLAIN = "plain"
    CONFIG = "config"
    DRIFTED = "drifted"
    BOTH = "both"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field that differs. `None` is absence, which a canonical configuration never holds as a value."""

    path: str
    """The field, with dots and indexes: `sources[1].filter_subject`."""
    live: Json = None
    """The value that is live, raw: durations in nanoseconds, sizes in bytes."""
    desired: Json = None
    """The value that is wanted, raw: durations in nanoseconds, sizes in bytes."""
    field_class: Annotated[FieldClass, ALWAYS, Name("class")] = FieldClass.PLAIN
    """Who changed it since it was last applied: the file (`config`), somebody outside (`drifted`), or `both`; `plain`
    where there is no record; `unfinished` where an apply left a value that the next one replaces."""
    info: Annotated[FieldInfo, INLINE] = field(default_factory=FieldInfo)
    filled: str = ""
    """Where the wanted value comes from, if the file leaves it out: `default`, `from consumer_limits`."""

    @property
    def top(self) -> str:
        """The top-level field that contains it, which is what the server replaces."""
        return _top(self.path)


@lru_cache(maxsize=1024)
def _top(path: str) -> str:
    return path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """What a change does to messages and clients, in words with quantities, and the quantities themselves."""

    message: str
    """What happens, in a sentence."""
    code: str = ""
    """The rule whose page says more, of something that may hurt one day and is no verdict."""
    quantities: Mapping[str, int] = field(default_factory=dict)
    """Counts, or upper bounds of them."""
    bounds: Amounts = field(default_factory=dict)
    """Of the quantities, those that were not counted, between two bounds."""
    detail: Mapping[str, Json] = field(default_factory=dict)
    """Data for a picture, such as which partitions move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is wanted compared with what is live, at one address."""

    address: Address
    action: Action
    desired: Resource | None = None
    """Rebased on live: it differs from live only where the file has an opinion."""
    live: Resource | None = None
    fields: tuple[FieldChange, ...] = ()
    owned: Owned | None = None
    intent: Intent | None = None
    """A replacement of it that an earlier run began and did not finish."""
    origin: Address | None = None
    """Its old name (`moved:`). If it continues at the old object's position, `live` is the old object."""
    earlier: tuple[str, ...] = ()
    """The addresses that it has had until now, as an entry in `moved:` tells, oldest first."""
    counterpart: Address | None = None
    """Of an orphan: what is to be created and is, as far as one can tell, this object under another name."""
    former: Owned | None = None
    """The record of the object in whose place it comes: that one had its old name (`moved:`), and is gone."""
    allow: tuple[Consent, ...] = ()
    """Consent from elsewhere than the resource: from the entry that moves it, or from the top level of the files."""
    began: Config = field(default_factory=dict)
    """Its real start (null: none), for which the file's words stand: it has moved on, or a replacement gave it that."""
    where: Where = nowhere
    reason: str = ""
    """Why, if the action alone does not say it (a removal's reason, why something is unknown)."""
    made_anew: str = ""
    """Says that the live object is not the one applied, and since when; empty if nobody can tell."""

    @property
    def terms(self) -> Terms:
        """The spec as the file says it, with its consent, labels and protection; defaults if nothing is declared."""
        return self.desired.terms if self.desired else no_terms()

    @property
    def wanted(self) -> Config:
        """The wanted configuration; empty if nothing is declared."""
        return self.desired.config if self.desired else {}

    @property
    def known_fields(self) -> tuple[FieldChange, ...]:
        """The fields that differ; none where the live object cannot be read, because its values are unknown then."""
        return () if self.live and self.live.why_unreadable else self.fields

    @property
    def info(self) -> Config:
        """What the server answers about the live object; empty if nothing is live."""
        return self.live.state if self.live else {}

    @property
    def raw(self) -> Config:
        """The live configuration as the server echoes it; empty if nothing is live."""
        return self.info.get("config") or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """What the file says; of what no file declares any more, what was recorded."""
        if self.desired:
            return self.desired.terms.labels
        return self.owned.labels if self.owned else {}

    @property
    def record(self) -> Owned | None:
        """What is recorded of it, or else of the object in whose place it comes."""
        return self.owned or self.former

    @property
    def only_renews(self) -> bool:
        """This topology already owns it by this name, and only its record is written again."""
        return self.action is Action.ADOPT and self.owned is not None

    def touches(self, *fields: str) -> bool:
        """Does any of these top-level fields change?"""
        return any(change.top in fields for change in self.fields)

    def field(self, name: str) -> FieldChange | None:
        """The change of this top-level field, or the first one inside it."""
        return next((change for change in self.fields if change.top == name), None)

    def was(self, name: str) -> Json:
        """The live value of a top-level field, raw; None if it is absent, or nothing is live."""
        return self.live.config.get(name) if self.live else None

    def becomes(self, name: str) -> Json:
        """The wanted value of a top-level field, raw; None if it is absent, or nothing is declared."""
        return self.desired.config.get(name) if self.desired else None
