"""What a server can be asked about live state beyond a snapshot, and its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCounts:
    """Question: how many messages does `stream` hold per subject matching `filter`? Answer: {subject: count}."""

    stream: str
    filter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesFrom:
    """Question: which is the first message on `filter` at or after `start`, and how many are there from it on?
    Answer: {"first": sequence or None, "messages": number}. Where nobody can count them, the numbers of the first and the last
    message bound how many there are: `most` in place of `messages`."""

    stream: str
    start: int | str
    """A sequence, or a time as the server writes it."""
    filter: str = ">"

    @property
    def breadth(self) -> tuple[int, bool]:
        """Less than that of every question that includes this one: by a wider filter, or from the beginning on."""
        tokens = self.filter.split(".")
        return -sum({">": 0, "*": 1}.get(token, 2) for token in tokens), self.start == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesSince:
    """Question: which is the first message of `stream` that was stored at `since` or later, by the time of each message, and
    how many are there from it on? Answer: as of MessagesFrom. Servers that search by time among deleted messages may find
    another one, and start a consumer there."""

    stream: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedFrom:
    """Question: of what `stream` took in from `source` and still holds, how many messages does the source not hold any more,
    at most? Answer: {"gone": number}."""

    stream: str
    source: str


ALL_SERVERS = "$SYS.REQ.ACCOUNT.PING.STATZ"
"""Where each server of a cluster answers any user who may ask there."""
ANYWHERE: tuple[str, tuple[str, ...]] = ("", ())
"""A placement that names neither a cluster nor tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Question: which servers take part in JetStream? Answer: {"servers": [{"cluster": name, "tags": [tag]}]}, not
    necessarily more than `least` fitting ones of one cluster."""

    least: int
    placement: tuple[str, tuple[str, ...]] = ANYWHERE
    """The cluster, where one is named, and the tags they must have."""

    def fitting_servers(self, servers: Iterable[Mapping[str, Json]], version: Version) -> int:
        """Return how many fitting servers the best cluster has; a server chooses all peers from one cluster."""
        cluster, tags = self.placement
        fitting = (
            server["cluster"]
            for server in servers
            if cluster in ("", server["cluster"]) and all(_fits_tag(tag, server["tags"], version) for tag in tags)
        )
        return max(Counter(fitting).values(), default=0)


_EXCLUDING = Version(2, 12)
"""The first version for which `!` before a tag excludes servers; earlier ones take it for a part of the tag."""


def _fits_tag(tag: str, tags: Sequence[str], version: Version) -> bool:
    """Servers compare tags without spaces around them, in small letters."""
    plain = tag.strip().lower()
    if plain.startswith("!") and version >= _EXCLUDING:
        return plain[1:] not in tags
    return plain in tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Holes:
    """Question: which sequences between the first and the last message of `stream` hold none?
    Answer: {"deleted": [sequence, …]}, in order."""

    stream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Oldest:
    """Question: which of the oldest messages of `stream` have these bytes, or just more, together?
    Answer: {"first": sequence of the next one, "messages": number, "bytes": number}; `first` is null where they are too many to
    be read."""

    stream: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """Question: of the `newest` messages of `stream`, how many are larger than `above` bytes, as the server compares them with
    max_msg_size? Answer: {"read": number, "larger": number, "largest": bytes}."""

    stream: str
    above: int
    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedUpTo:
    """Question: which message of an origin is the last one that `stream` copied through a source and still stores?
    Messages say their source: the origin's name, what is copied of it, and under which subjects.

    Answer: {"seq": sequence in the origin, 0 for none, "others": whether the messages read show other sources of the
    same origin, "stored": when that copy was stored, if it tells which stream of that name it came from}. Where too many
    messages would have to be read, `seq` is missing, and at most a bound `least` is given, with its `stored`."""

    stream: str
    source: tuple[str, str, str]
    subjects: tuple[str, ...]
    """Where its copies lie."""
    likely: tuple[str, ...] = ()
    """Narrower subjects where they lie if its origin stored then what it stores now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Question: does anybody answer for this stream of another domain, at the prefix at which a copy of it asks?

    Answer: {"why_not": what is wrong there now, in words that follow the stream's name; empty: the stream is there}."""

    api: str
    stream: str


Question = (
    SubjectCounts
    | MessagesFrom
    | MessagesSince
    | QueuedFrom
    | Peers
    | Holes
    | Oldest
    | Largest
    | CopiedUpTo
    | Elsewhere
)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The question could not be answered; nobody guesses."""

    reason: str


Facts = Mapping[Question, Json | Unanswered]
