"""What may not be done to a stream, or only with consent: stamped from the field table, and judged from live state."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.core.diff import Action, Change, FieldChange
from reconciler.core.resource import Config, Json
from reconciler.core.rule import Finding, Found, Outcome, Reaction, View, rule
from reconciler.kinds.primitives.copies import CHECKS as COPIES
from reconciler.kinds.primitives.doomed import doomed_live
from reconciler.kinds.primitives.ranges import CHECKS as RANGES
from reconciler.kinds.primitives.reserved import reserved_metadata
from reconciler.kinds.primitives.rewriting import CHECKS as REWRITING
from reconciler.kinds.primitives.stream_config import FIELDS, unknown_fields, unknown_values
from reconciler.kinds.primitives.updatability import Fixed, updatability_rules
from reconciler.kinds.primitives.validity import stamped
from reconciler.kinds.primitives.versions import too_young
from reconciler.kinds.primitives.words import in_words
from reconciler.kinds.stream.consumers import RULES as CONSUMERS
from reconciler.kinds.stream.losses import RULES as LOSSES
from reconciler.kinds.stream.one_way import RULES as ONE_WAY
from reconciler.kinds.stream.subjects import RULES as SUBJECTS
from reconciler.kinds.stream.validity import CHECKS as FIELDS_TOGETHER

NEW_STREAM = "declare a second stream that sources this one, and move publishers and consumers to it"

FIXED = {
    "storage": Fixed("ST101", "storage-change", "The server fixes storage at creation.", NEW_STREAM),
    "retention": Fixed(
        "ST102",
        "workqueue-retention-change",
        "The server never turns a stream into a work queue, or a work queue into something else.",
        NEW_STREAM,
    ),
    "mirror": Fixed(
        "ST103",
        "mirror-change",
        "A stream is a mirror, and of what, for its whole life; from 2.12 on it can be promoted by removing `mirror`, which is final.",
        "declare a new stream with the mirror wanted; to promote one, remove `mirror` on servers from 2.12 on",
    ),
    "max_consumers": Fixed(
        "ST104",
        "max-consumers-change",
        "Servers before 2.12.5 fix it at creation.",
        "upgrade the servers to 2.12.5 or newer",
    ),
    "allow_msg_counter": Fixed(
        "ST105", "counter-change", "Counting is decided at creation, in both directions.", NEW_STREAM
    ),
    "persist_mode": Fixed("ST106", "persist-mode-change", "The server fixes it at creation.", NEW_STREAM),
    "sealed": Fixed("ST201", "unsealing", "A sealed stream stays sealed.", NEW_STREAM),
    "deny_delete": Fixed("ST202", "delete-denial-cancelled", "Once denied, deleting stays denied.", NEW_STREAM),
    "deny_purge": Fixed("ST203", "purge-denial-cancelled", "Once denied, purging stays denied.", NEW_STREAM),
    "allow_msg_ttl": Fixed(
        "ST204", "message-ttl-disabled", "Stored messages may carry a time to live already.", NEW_STREAM
    ),
    "allow_msg_schedules": Fixed("ST205", "schedules-disabled", "Schedules may be stored already.", NEW_STREAM),
}


@rule("ST107", "first-sequence-change", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.INERT)
def first_sequence_change(change: Change, _view: View) -> Found:
    """`first_seq` of an existing stream changes.

    The server answers ok and shows the new number, but sequences go on as before: only a new stream heeds it.

    Instead: leave `first_seq` as it is live, or declare a new stream.
    """
    if (found := change.field("first_seq")) is None:
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="first_seq",
        message="first_seq has no effect on an existing stream. The server would say ok and do nothing.",
        fix=f"write first_seq: {found.live or 0}, as it is live, or declare a new stream",
        to=found.desired,
    )


@rule("ST108", "seal-at-creation", on=(Action.CREATE,), err_code=10052, can_stand=True)
def seal_at_creation(change: Change, _view: View) -> Found:
    """A new stream is declared sealed.

    The server refuses to create sealed streams, since nothing could ever be stored in them.

    Instead: create the stream, fill it, then declare `sealed: true`.
    """
    if not change.becomes("sealed"):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="sealed",
        message="a new stream cannot be sealed. The server refuses it: nothing could ever be stored.",
        fix="create and fill the stream first, then declare sealed: true",
    )


@rule("ST109", "external-mismatch", on=(Action.CREATE, Action.UPDATE), needs=("live",))
def external_mismatch(change: Change, _view: View) -> Iterator[Finding]:
    """A stream that someone else manages is missing, or is not what this file expects.

    Beside `external: true` stand expectations; we never create or change such a stream.

    Instead: talk to its owner, or correct the expectation.
    """
    if not (change.desired and change.desired.external):
        return
    if change.action is Action.CREATE:
        yield Finding(
            outcome=Outcome.REFUSED,
            path="external",
            message="this stream is managed elsewhere and does not exist here",
            fix="let its owner create it, or check that this is the right account",
        )
    for item in change.fields:
        yield Finding(
            outcome=Outcome.REFUSED,
            path=item.path,
            fix="talk to its owner, or correct what this file expects",
            message=f"this external stream has {item.path} {_shown(item, item.live)}, "
            f"the file expects {_shown(item, item.desired)}",
        )


def _shown(item: FieldChange, value: Json) -> str:
    return in_words(item.info.default if value is None else value, item.info.unit)


@rule("ST507", "external-with-configuration")
def external_with_configuration(change: Change, _view: View) -> Iterator[Finding]:
    """Beside `external: true` stands configuration that is someone else's to decide.

    Only consumers, groups, and `subjects` and `retention` as expectations make sense there.

    Instead: remove the other fields, or remove `external` and manage the stream here.
    """
    if change.desired and change.desired.external:
        for path in sorted(change.desired.config.keys() - {"subjects", "retention"}):
            yield Finding(
                outcome=Outcome.REFUSED,
                path=path,
                fix="remove this field, or manage the stream here",
                message=f"{path} cannot stand beside external: true; only subjects and retention are expectations",
            )


def _configurations(change: Change) -> tuple[Config, Config]:
    return change.desired.sent if change.desired else {}, change.live.config if change.live else {}


CHECKS = (*RANGES, *COPIES, *REWRITING, *FIELDS_TOGETHER)

RULES = (
    *updatability_rules(FIELDS, FIXED, of="stream"),
    first_sequence_change,
    seal_at_creation,
    external_mismatch,
    *ONE_WAY,
    *LOSSES,
    *SUBJECTS,
    *CONSUMERS,
    too_young("ST", unknown_fields, unknown_values),
    external_with_configuration,
    reserved_metadata("ST"),
    *stamped("ST", CHECKS, _configurations),
    doomed_live("ST", CHECKS),
)
