"""A replacement under way: what it was begun from, what is wanted, and where to go on. Written before anything is deleted.

Whoever finds one where the object is gone finishes the replacement and never creates afresh; where the old object still
is, the replacement is resumed or taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.entries import (
    FORMAT,
    Fits,
    Unusable,
    are_texts,
    is_config,
    is_list,
    is_start,
    is_text,
    is_true_or_false,
    read_entry,
)
from reconciler.model.ledger.records import BUCKET, decode_key, encode_key
from reconciler.model.resource import Address, Config, Consent, Json
from reconciler.model.wire.snapshot import Entry, Snapshot

PREFIX = "intent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A replacement under way, written before anything is deleted and removed when it is remembered as done."""

    topology: str
    source: str | None = None
    git_revision: str | None = None
    created: str = ""
    """When the server says the old object was created: is what is live now still that very one?"""
    old: Config = field(default_factory=dict)
    """Canonical configuration of the old object."""
    wanted: Config = field(default_factory=dict)
    """Canonical configuration of the new one, in the file's words."""
    fields: tuple[str, ...] = ()
    """What no update could change: in these the new object differs from the old one."""
    start: Config = field(default_factory=dict)
    """What the new one is made with instead of the file's words, so that it continues from the old one's position. As
    far as that is known: until `ready` it is what the plan saw, which is no later than the old one's position."""
    made: Config = field(default_factory=dict)
    """Canonical configuration with which an interrupted replacement had made the old object, in the file's words then. No
    record knows of it; nothing where the old object is the recorded one."""
    stood: Config = field(default_factory=dict)
    """The start that a replacement had given the old object instead of the file's words."""
    notes: Config = field(default_factory=dict)
    """What the kind must find again, such as the name of a placeholder."""
    allow: tuple[Consent, ...] = ()
    """The consent this was begun with, as it was written; what is resumed is the same deed."""
    ready: bool = False
    """Step reached: the position is kept, and from here on the old object may be gone."""
    revision: int = 0
    """Revision of the KV entry this was read from; not part of the record itself."""
    written: str = field(default="", compare=False)
    """When the server stored that entry; not part of the record itself."""

    def is_made(self, live: Config) -> bool:
        """Is this canonical live configuration the new object, as this replacement makes it?"""
        differs = (live.get(name) != self.old.get(name) for name in self.fields if name not in self.start)
        return self.ready and all(differs) and all(live.get(name) == value for name, value in self.start.items())


def intent_key(address: Address) -> str:
    """The key in bucket `reconciler` under which a replacement of this resource is noted."""
    return encode_key(address, PREFIX)


def encode_intent(intent: Intent) -> dict[str, Json]:
    """Return it as it is stored; what says nothing is left out."""
    record = {
        "format": FORMAT,
        "topology": intent.topology,
        "source": intent.source,
        "git_revision": intent.git_revision,
        "created": intent.created,
        "old": intent.old,
        "wanted": intent.wanted,
        "fields": list(intent.fields),
        "start": intent.start,
        "made": intent.made,
        "stood": intent.stood,
        "notes": intent.notes,
        "allow": [consent.model_dump(mode="json", exclude_unset=True) for consent in intent.allow],
        "ready": intent.ready,
    }
    return {name: value for name, value in record.items() if value or name == "topology"}


def _are_notes(value: Json) -> bool:
    """A message to resume at is looked at by who wants it: zero says that there is none yet."""
    return isinstance(value, dict) and (value.get("placeholder") is None or is_text(value["placeholder"]))


_SHAPES: Mapping[str, Fits] = {
    "source": is_text, "git_revision": is_text, "created": is_text, "old": is_config, "wanted": is_config,
    "fields": are_texts, "start": is_start, "made": is_config, "stood": is_start, "notes": _are_notes, "allow": is_list,
    "ready": is_true_or_false,
}  # fmt: skip


def decode_intent(entry: Entry) -> Intent | str:
    """A replacement under way, or why nobody can say what it is."""
    try:
        record = read_entry(entry.value, _SHAPES)
        fields = tuple(record.pop("fields", ()))
        allow = tuple(Consent.model_validate(consent) for consent in record.pop("allow", ()))
        return Intent(fields=fields, allow=allow, **record, revision=entry.revision, written=entry.stored)
    except Unusable as reason:
        return str(reason)
    except (ValueError, TypeError):
        return "the consent it was begun with cannot be understood"


_BEGUN = f"{PREFIX}."


def intents(snapshot: Snapshot) -> dict[Address, Intent | str]:
    """Every replacement that some run has begun and none has finished."""
    return {
        address: decode_intent(entry)
        for key, entry in snapshot.entries.get(BUCKET, {}).items()
        if key.startswith(_BEGUN) and not entry.deleted and (address := decode_key(key, PREFIX))
    }
