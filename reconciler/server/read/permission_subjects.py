"""The subjects of each read and each step: the one table behind printed permissions and the check before an apply.

A test checks that every endpoint in this package is listed here, and real users with exactly these permissions plan and
apply without a violation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import BUCKET, ENTRY_BUCKETS, RESERVED
from reconciler.model.wire.permissions import Need
from reconciler.model.wire.questions import (
    ALL_SERVERS,
    CopiedUpTo,
    Elsewhere,
    Holes,
    Largest,
    MessagesFrom,
    MessagesSince,
    Oldest,
    Peers,
    Question,
    QueuedFrom,
    SubjectCounts,
)
from reconciler.model.wire.steps import Call, Step
from reconciler.server.wire.api import WHO, api_prefix

LOOK = ("INFO", "STREAM.LIST", "STREAM.INFO.*", "CONSUMER.LIST.*", "CONSUMER.INFO.*.*")
"""Names and configurations of the whole account; INFO one by one where a server is late for a list."""
RECORDS = ("STREAM.MSG.GET.KV_{bucket}", "DIRECT.GET.KV_{bucket}")
MEASURED = "what changes would lose"
MEASURE = ("STREAM.INFO.{stream}", "STREAM.MSG.GET.{stream}", "DIRECT.GET.{stream}")
"""For measuring losses: where a time or sequence lies, and how many messages follow."""
QUESTIONS: Mapping[type[Question], tuple[str, ...]] = {
    **dict.fromkeys((MessagesFrom, MessagesSince, Oldest, Largest, CopiedUpTo), MEASURE),
    **dict.fromkeys((SubjectCounts, Holes), MEASURE[:1]),
    QueuedFrom: (*MEASURE[:2], *(subject.replace("{stream}", "{source}") for subject in MEASURE)),
    Peers: (ALL_SERVERS,),
    Elsewhere: ("{api}.STREAM.INFO.{stream}",),
}
WHY_ASKED: Mapping[type[Question], str] = {
    Peers: "which servers replicas and placement find",
    Elsewhere: "whether another domain has what is copied",
}
TRAIL = ("DIRECT.GET.{stream}",)
"""For naming authors: reading a stream of audit events leaves no event."""
CREATE = "STREAM.CREATE.KV_{bucket}"
MEMORY = "lease, journal and records of apply"

STEPS: Mapping[Call, tuple[str, ...]] = {
    Call.STREAM_CREATE: ("STREAM.CREATE.{on}", "STREAM.INFO.{on}"),
    Call.STREAM_UPDATE: ("STREAM.INFO.{on}", "STREAM.UPDATE.{on}"),
    Call.STREAM_DELETE: ("STREAM.INFO.{on}", "STREAM.DELETE.{on}"),
    Call.CONSUMER_CREATE: ("CONSUMER.CREATE.{on}", "CONSUMER.INFO.{on}"),
    Call.CONSUMER_UPDATE: ("CONSUMER.INFO.{on}", "CONSUMER.CREATE.{on}"),
    Call.CONSUMER_DELETE: ("CONSUMER.INFO.{on}", "CONSUMER.DELETE.{on}"),
    Call.CONSUMER_PAUSE: ("CONSUMER.PAUSE.{on}",),
    Call.CONSUMER_UNPIN: ("CONSUMER.UNPIN.{on}",),
    Call.CONSUMER_READ: ("CONSUMER.INFO.{on}",),
    Call.CONSUMER_RESET: ("CONSUMER.RESET.{on}",),
    Call.QUEUE_READ: ("STREAM.INFO.{source}", "STREAM.INFO.{on}", "STREAM.MSG.GET.{on}"),
    Call.QUEUE_SETTLE: ("STREAM.INFO.{source}", "STREAM.INFO.{on}", "STREAM.MSG.GET.{on}", "STREAM.UPDATE.{on}"),
    Call.ENTRY_PUT: ("$KV.{on}", "STREAM.MSG.GET.KV_{stream}"),
    Call.ENTRY_DELETE: ("$KV.{on}", "STREAM.MSG.GET.KV_{stream}"),
    Call.GATE_CONSUMERS_GONE: ("CONSUMER.NAMES.{stream}",),
    Call.GATE_REPLICAS_CURRENT: ("STREAM.INFO.{on}",),
    Call.GATE_CONSUMER_EVERYWHERE: ("CONSUMER.INFO.{on}", "STREAM.MSG.GET.{stream}"),
    Call.GATE_MIRROR_CAUGHT_UP: ("STREAM.INFO.{on}", "STREAM.INFO.{source}", "STREAM.MSG.GET.{source}"),
    Call.GATE_QUEUE_CAUGHT_UP: ("STREAM.INFO.{on}", "STREAM.MSG.GET.{on}", "STREAM.MSG.GET.{source}"),
    Call.GATE_COPY_LISTENS: ("STREAM.INFO.{on}",),
    Call.GATE_MEMBERS_BACK: (),
    Call.GATE_IN_FLIGHT_DONE: ("CONSUMER.INFO.{on}", "STREAM.MSG.GET.{stream}"),
}
ADVISORIES = "$JS.EVENT.ADVISORY.>"
HEARD: Mapping[str, str] = {**dict.fromkeys(ENTRY_BUCKETS, ">"), BUCKET: "owned.>"}
"""Keys whose writes a watch hears, by bucket."""
MEMBER = "CONSUMER.INFO.{stream}.{on}"
CHANGES = "what apply changes"
BACKUP = "STREAM.SNAPSHOT.{stream}"
CHUNK = "$JS.SNAPSHOT.ACK.{stream}.>"
"""The server names the subject for acknowledging parts of a backup, which is below this one."""
AFTERWARDS: Mapping[int, tuple[str, ...]] = {
    1: ("STREAM.NAMES", "STREAM.LIST"),
    2: ("STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES.{stream}", "CONSUMER.LIST.{stream}"),
}
"""The look after an apply, by what was created or deleted: a stream, or a consumer. NAMES on a single server."""
LOOKED_AT_AFTERWARDS = frozenset({Call.STREAM_CREATE, Call.STREAM_UPDATE, Call.STREAM_DELETE,
                                  Call.CONSUMER_CREATE, Call.CONSUMER_UPDATE, Call.CONSUMER_DELETE})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Where the JetStream API answers, and where answers arrive."""

    start: str = "$JS.API."
    """The beginning of every endpoint."""
    inbox: str = "_INBOX"

    @classmethod
    def of(cls, domain: str | None, prefix: str | None, inbox: str) -> Self:
        """Return the API of a JetStream domain or an imported prefix; where neither is named, the one at `$JS.API.`."""
        return cls(start=api_prefix(domain, prefix), inbox=inbox)

    def subject(self, template: str, **names: str) -> str | None:
        """Return the subject of an endpoint; None: it is not asked here, because it has several answers and an import
        passes on one, or only servers on this side of a leaf node answer."""
        filled = template.format(**names)
        if filled == ALL_SERVERS or filled.startswith("$JS."):
            return filled if self.start == "$JS.API." else None
        if filled.startswith("DIRECT.") and not self.start.startswith("$JS."):
            return None
        elsewhere = self.start if self.start != "$JS.API." else ""
        return (elsewhere if filled.startswith("$KV.") else self.start) + filled

    def needs(self, why: str, templates: Iterable[str], **names: str) -> Iterator[Need]:
        """Return one permission for each template, filled with `names`; endpoints that are not asked here (see
        `subject`) are left out."""
        for template in templates:
            if (subject := self.subject(template, **names)) is not None:
                yield Need(subject=subject, why=why)

    def needs_to_look(self) -> Iterator[Need]:
        """Return the permissions to read the account, as every plan begins."""
        yield Need(subject=WHO, why="who we are")
        yield from self.needs("what the account holds", LOOK)
        for bucket in RESERVED:
            yield from self.needs("what reconciler and groups remember", RECORDS, bucket=bucket)

    def needs_to_measure(self, streams: Iterable[str]) -> Iterator[Need]:
        """Return the permissions to count what a change of these streams would lose."""
        for stream in streams:
            yield from self.needs(MEASURED, MEASURE, stream=stream)

    def needs_to_ask(self, questions: Iterable[Question]) -> Iterator[Need]:
        """Return the permissions to ask these questions, on whose answers verdicts depend."""
        for question in questions:
            named = {name: getattr(question, name, "") for name in ("stream", "source", "api")}
            why = WHY_ASKED.get(type(question), MEASURED)
            yield from self.needs(why, QUESTIONS[type(question)], **named)

    def needs_to_attribute(self, streams: Iterable[str]) -> Iterator[Need]:
        """Return the permissions to name the authors of changes, from these streams of audit events."""
        for stream in streams:
            yield from self.needs("who did it, from the audit trail", TRAIL, stream=stream)

    def needs_to_remember(self, *keys: str, made: bool = False) -> Iterator[Need]:
        """Return the permissions to keep records: `keys` of the bucket that are written (none: any). `made` says that
        the bucket exists."""
        for key in keys or (">",):
            yield from self.needs(MEMORY, ("$KV.{bucket}.{key}",), bucket=BUCKET, key=key)
        yield from self.needs(MEMORY, RECORDS[:1], bucket=BUCKET)
        if not made:
            yield from self.needs(MEMORY, (CREATE,), bucket=BUCKET)

    def needs_to_carry_out(self, steps: Iterable[Step]) -> Iterator[Need]:
        """Return the permissions for the requests of these steps, and to read the consumers of members that a gate
        waits for."""
        for step in steps:
            yield from self.needs(CHANGES, STEPS[step.call], **_names(step))
            named = step.body.get("names") or step.body.get("partitions") or ()  # the members a gate waits for
            yield from (need for name in named for need in self.needs(CHANGES, (MEMBER,), stream=step.on[0], on=name))

    def needs_to_verify(self, steps: Iterable[Step]) -> Iterator[Need]:
        """Return the permissions to look, after an apply, at the streams and consumers that these steps change."""
        for step in steps:
            if step.call in LOOKED_AT_AFTERWARDS:
                yield from self.needs("whether everything exists afterwards", AFTERWARDS[len(step.on)], **_names(step))

    def needs_to_back_up(self, streams: Iterable[str]) -> Iterator[Need]:
        """Return the permissions for `apply --backup`."""
        for stream in streams:
            yield from self.needs("backups", (BACKUP,), stream=stream)
            yield Need(subject=CHUNK.format(stream=stream), why="backups")

    def needs_to_watch(self) -> Iterator[Need]:
        """Return the permissions for `drift watch`: to hear of changes, and of writes to buckets as they pass."""
        yield Need(subject=ADVISORIES, why="what changes, for `drift watch`")
        for bucket, keys in HEARD.items():
            yield from self.needs("what changes, for `drift watch`", ("$KV.{bucket}.{keys}",), bucket=bucket, keys=keys)

    def answers(self) -> Need:
        """Return the subscription that every request needs, whatever it asks."""
        return Need(subject=f"{self.inbox}.>", why="answers")


def _names(step: Step) -> dict[str, str]:
    return {"on": ".".join(step.on), "stream": step.on[0], "source": step.body.get("from", "")}
