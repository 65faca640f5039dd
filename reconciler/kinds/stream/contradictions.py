"""Fields of one stream that contradict each other, subjects that are invalid or capture the same message twice, and subjects
that belong to the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.actions import is_new
from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.fields.words import in_words
from reconciler.kinds.stream_config.config_checks import Sent, config_check, is_since, objection
from reconciler.kinds.stream_config.restarts import FORCING
from reconciler.kinds.stream_config.stream_config import FIELDS
from reconciler.kinds.stream_config.stream_settle import SEALED
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, colliding_reserved_subject, is_valid, storable_subjects
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config
from reconciler.model.wire.version import Version


@rule("ST542", "invalid-subject", err_code=10052)
def invalid_subject(change: Change, _view: View) -> Iterator[Finding]:
    """A subject that no message can ever have: an empty token, white space, or a `>` that is not at the end.

    The server refuses the whole stream because of it.

    Instead: write tokens between single dots, `*` for one token, `>` for all that follow.
    """
    for index, subject in enumerate(change.becomes("subjects") or ()):
        if not is_valid(subject):
            yield objection(
                f"subjects[{index}]",
                f"`{subject}` is not a valid subject",
                "write tokens between single dots, without white space, `>` only at the end",
            )


@rule("ST543", "own-subjects-overlap", err_code=10052)
def own_subjects_overlap(change: Change, _view: View) -> Iterator[Finding]:
    """Two subjects of one stream capture the same message; the server refuses the stream.

    Instead: keep the wider one.
    """
    subjects = storable_subjects(change.desired.config if change.desired else {})
    index = SubjectIndex(subjects.items())
    for position, subject in subjects.items():
        near = index.near(subject)
        earlier = next((theirs for other, theirs in near if other < position and collide(subject, theirs)), None)
        if earlier is not None:
            message = f"`{subject}` overlaps with `{earlier}` of the same stream"
            yield objection(f"subjects[{position}]", message, "keep the wider one of the two")


@rule("ST558", "never-expires", until=V2_14, reaction=Reaction.HARMS)
def never_expires(change: Change, _view: View) -> Found:
    """A subject may hold one message and refuses more, and the stream stores a marker when that one expires.

    A server before 2.14 has no room for the marker, and therefore keeps the message: it never expires, whatever `max_age`
    or its `Nats-TTL` says. The server refuses every publish to the subject (10077) until somebody deletes the message. A
    lock that clients take by publishing is never free again.

    Instead: leave `subject_delete_marker_ttl` out, or write `max_msgs_per_subject: 2`; or upgrade to nats-server 2.14
    first.
    """
    parts = ("subject_delete_marker_ttl", "discard_new_per_subject", "max_msgs_per_subject")
    is_full_with_one = change.becomes("discard_new_per_subject") and change.becomes("max_msgs_per_subject") == 1
    if not (is_full_with_one and change.becomes("subject_delete_marker_ttl") and is_new(change, *parts)):
        return None
    path = next((part for part in parts if change.touches(part)), parts[0])
    return Finding(
        outcome=Outcome.NEEDS_CONSENT if change.action is Action.UPDATE else Outcome.WARNS,
        path=path,
        to=change.becomes(path) if change.action is Action.UPDATE else None,
        message="each subject may hold one message and has no room for the marker, so the server keeps the message: it never expires, "
        "and every publish to its subject is refused (10077) until somebody deletes it",
        fix="leave subject_delete_marker_ttl out, or write max_msgs_per_subject: 2; or upgrade to nats-server 2.14 first",
    )


RULES = (invalid_subject, own_subjects_overlap, never_expires)


SCHEDULES_SETTLED = (Version(2, 12, 10), Version(2, 14, 2))
"""First patches that refuse schedules beside `discard: new` or counters. They lose streams that have both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Two fields that exclude each other; `one` is the younger or more special one."""

    one: str
    other: str
    when: Callable[[Config], bool]
    why: str
    since: tuple[Version, ...] = (V2_12,)
    """First versions that refuse it. An older server accepts it, and a later one loses the stream. A field that the
    server does not know clashes with nothing."""


def _has_field(name: str) -> Callable[[Config], bool]:
    return lambda config: name in config


def _has_value(name: str, value: str) -> Callable[[Config], bool]:
    return lambda config: config.get(name) == value


ALWAYS = (Version(0, 0),)
CLASHES = (
    Clash(one="deny_purge", other="allow_rollup_hdrs", when=_has_field("allow_rollup_hdrs"), since=ALWAYS,
          why="a roll-up purges what came before"),
    Clash(one="allow_msg_counter", other="discard: new", when=_has_value("discard", "new"),
          why="a counter that refuses messages loses count"),
    Clash(one="allow_msg_counter", other="message TTLs", when=_has_field("allow_msg_ttl"),
          why="a counter whose messages expire loses count"),
    Clash(one="allow_msg_counter", other="a retention other than limits", when=_has_field("retention"),
          why="a counter whose messages go when read loses count"),
    Clash(one="allow_msg_counter", other="allow_msg_schedules", when=_has_field("allow_msg_schedules"), since=SCHEDULES_SETTLED,
          why="servers count or schedule, not both"),
    Clash(one="allow_msg_schedules", other="discard: new", when=_has_value("discard", "new"), since=SCHEDULES_SETTLED,
          why="a message could be due and refused"),
    Clash(one="allow_msg_schedules", other="sources", when=_has_field("sources"),
          why="schedules would be copied and run twice"),
    Clash(one="discard_new_per_subject", other="discard: old", when=lambda config: "discard" not in config, since=ALWAYS,
          why="it refuses new messages per subject, so it needs discard: new"),
    Clash(one="discard_new_per_subject", other="unlimited messages per subject", since=ALWAYS,
          when=lambda config: "max_msgs_per_subject" not in config, why="it needs max_msgs_per_subject"),
    Clash(one="persist_mode", other="storage: memory", when=_has_value("storage", "memory"), why="memory has no disk to wait for"),
    Clash(one="persist_mode", other="replicas", when=lambda config: config.get("num_replicas", 1) > 1,
          why="replicas write together"),
    Clash(one="persist_mode", other="allow_atomic", when=_has_field("allow_atomic"), why="a batch must be on disk as a whole"),
)  # fmt: skip


@config_check(545, "contradictory-fields", err_code=(10052, 10187))
def contradictory_fields(sent: Sent) -> Iterator[Finding]:
    """Two fields exclude each other: roll-ups and `deny_purge`; counters and anything that loses count; schedules and
    sources or `discard: new`. Asynchronous persistence excludes memory, replicas and atomic batches; sealing excludes
    counters and schedules. `discard_new_per_subject` lacks what it needs, or a new stream that is no mirror has
    `mirror_direct`. Or a stream is sealed with values that sealing replaces, such as a `max_age`.

    Servers silently set what sealing replaces, and refuse the rest as a whole. An older patch release may accept
    it, and the stream is then lost at the upgrade.

    Instead: choose one of the two.
    """
    for clash in CLASHES:
        if clash.one in sent.config and clash.when(sent.config) and FIELDS[clash.one].since <= sent.version:
            yield _finding_about_clash(sent, clash)
    yield from _check_mirror_direct(sent)
    yield from _check_sealing(sent)
    yield from _overridden_by_sealing_findings(sent)


def _finding_about_clash(sent: Sent, clash: Clash) -> Finding:
    sealing = clash.other == "discard: new" and "sealed" in sent.config
    path = "sealed" if sealing else clash.one
    if sealing:
        message = (
            f"a stream with {clash.one} cannot be sealed: a server that seals it loses the stream at its next restart"
        )
    else:
        message = f"{clash.one} excludes {clash.other}: {clash.why}"
    dooms = not is_since(sent.version, *clash.since)
    return objection(
        path,
        message
        + ("; this server accepts both, and the next version loses the stream" if dooms and not sealing else ""),
        "leave it unsealed" if sealing else "choose one of the two",
        reaction=Reaction.DOOMS if dooms else None,
        can_stand=sealing,
    )


def _check_mirror_direct(sent: Sent) -> Iterator[Finding]:
    if "mirror_direct" in sent.config and "mirror" not in sent.config:
        yield objection(
            "mirror_direct",
            "mirror_direct needs a mirror, and this stream is none; servers refuse it on a new stream"
            + ("" if sent.is_new else ". An existing one keeps the value, and answers no direct get because of it"),
            "remove mirror_direct, or write allow_direct",
            outcome=Outcome.REFUSED if sent.is_new else Outcome.WARNS,
            reaction=None if sent.is_new else Reaction.INERT,
            can_stand=True,
        )


def _check_sealing(sent: Sent) -> Iterator[Finding]:
    forcing = [name for name in FORCING if name in sent.config and FIELDS[name].since <= sent.version]
    if not forcing or "sealed" not in sent.config:
        return
    if "sealed" in sent.live and "deny_purge" not in sent.live:
        return  # a restart has lifted it already
    if "sealed" in sent.live:
        yield objection(
            "sealed",
            f"the server refuses every update of a sealed stream with {forcing[0]}: it lifts deny_purge for {forcing[0]}, and "
            "then refuses the lifting",
            "leave this stream as it is live, or `forget` it",
        )
    else:
        yield Finding(
            outcome=Outcome.WARNS,
            path="sealed",
            message=f"once it is sealed, the server refuses every other update of this stream, because of {forcing[0]}",
            fix="make every other change first",
            reaction=Reaction.ONE_WAY,
        )


def _overridden_by_sealing_findings(sent: Sent) -> Iterator[Finding]:
    if "sealed" not in sent.config or not sent.touches("sealed"):
        return
    stated = sent.stated()
    for name, value in SEALED.items():
        if name in stated and (stated[name] or 0) != value:
            shown = in_words(value, FIELDS[name].unit)
            yield Finding(
                outcome=Outcome.WARNS,
                path=name,
                message=f"{name} {in_words(stated[name], FIELDS[name].unit)} has no effect: a server that seals the stream sets {name} "
                f"to {shown}",
                fix="leave it out",
                reaction=Reaction.INERT,
            )


@config_check(548, "reserved-subject", err_code=10052)
def reserved_subject(sent: Sent) -> Iterator[Finding]:
    """A subject captures subjects of the server's own: `$JS`, `$JSC`, `$NRG`, `$SYS`, or everything.

    A stream answers every message it stores, so it would answer requests meant for the server. Servers refuse it unless
    the stream has `no_ack: true`; `>` must also have one replica. Any stream may store events (`$JS.EVENT.>`,
    `$SYS.ACCOUNT.>`).

    Instead: name the subjects you want, or write `no_ack: true`.
    """
    for index, subject in enumerate(sent.config.get("subjects", ())):
        if reason := _objection_to_reserved(sent, subject):
            yield objection(f"subjects[{index}]", reason[0], reason[1])


def _objection_to_reserved(sent: Sent, subject: str) -> tuple[str, str] | None:
    """The objection and the fix in words; None: nothing is wrong with it."""
    if "no_ack" not in sent.config:
        taken = colliding_reserved_subject(subject)
        if taken is None:
            return None
        return (
            f"`{subject}` captures `{taken}`, which belongs to the server",
            "name the subjects you want, or write no_ack: true",
        )
    if subject == ">" and (sent.get("num_replicas") or 1) > 1:
        return (
            "a stream that stores everything must have one replica",
            "write num_replicas: 1, or name the subjects you want",
        )
    return None


CHECKS = (contradictory_fields, reserved_subject)
