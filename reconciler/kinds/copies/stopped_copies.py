"""What stops a copy: limits that its origin sets for consumers, messages that are too large for it, and rollups."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import consumer_readers
from reconciler.kinds.afterwards.streams import Copy, afterwards, config_of, copies
from reconciler.kinds.copies.copy_rules import AS_THE_COPY_SAYS, WRITTEN, is_new, largest_message_of
from reconciler.kinds.fields.known import V2_12, V2_14, V2_15
from reconciler.kinds.fields.words import in_words, listed, some, written_size
from reconciler.kinds.losses import dependants
from reconciler.kinds.stream_config.config_checks import sources_of
from reconciler.kinds.stream_config.mirrors_and_sources import SOURCE_HEADER
from reconciler.kinds.stream_config.origins import FED_FOR, IDLE, PENDING, can_remove_limit, limits_that_forbid_copying
from reconciler.model.resource import Address, Config

WAYS_OUT = {
    PENDING: f"remove {PENDING} from these consumer_limits, and write it into each consumer",
    IDLE: f"write {IDLE}: {in_words(FED_FOR, 'duration')} or more into these consumer_limits",
}


@rule(
    "XX228",
    "copy-not-fed",
    on=(Action.CREATE, Action.UPDATE, Action.ADOPT),
    needs=("neighbours",),
    reaction=Reaction.INERT,
)
def copy_not_fed(change: Change, view: View) -> Iterator[Finding]:
    """The `consumer_limits` of an origin forbid the consumer through which the server feeds this copy.

    That consumer takes no acknowledgements and lasts for 10 seconds without a reader. So it cannot keep to a
    `max_ack_pending`, or to an `inactive_threshold` below 10s (10082, 10153). The server reports that only in the state
    of the copy, which copies nothing. Once the limit is removed, a server tries again about once a minute. `ST610` is
    about copies at work. From 2.14 on, work queues and interest streams feed their copies in another way, and these
    limits do no harm.

    Before 2.15 that consumer also counts for the origin's `max_consumers`: if all places are taken, the server copies nothing
    (10026). A consumer that takes the last place beside a copy at work stops it at the next restart.

    Nor is a copy fed that asks at the prefix of the domain it lies in itself. Only clients and leaf nodes reach a domain by
    that prefix, and not its own servers.

    Where nothing answers at the `api` of a copy from elsewhere, the server copies nothing and reports no error. A plan that
    adopts a copy says what its server reports of it.

    Instead: write `max_ack_pending` into each consumer in place of `consumer_limits`, and an `inactive_threshold` of
    10s or more; or leave a place for each copy in `max_consumers`. Leave `external` out for a stream of the same domain.
    """
    if change.action is Action.ADOPT:
        yield from _unfed_copies(change)
        return
    if (
        change.address.kind == "consumer"
        and change.action is Action.CREATE
        and (no_place := _no_place_text(change.address.stream, view))
    ):
        copying = sorted({copier.stream for copier in afterwards(view).copiers[change.address.stream]})
        yield Finding(
            outcome=Outcome.WARNS,
            message=f"{no_place}: after its next restart the server copies nothing more to {listed(copying)} (10026)",
            fix=f"write a higher max_consumers on {change.address.stream}",
        )
    if not is_new(change, *AS_THE_COPY_SAYS):
        return
    yield from _own_domain(change, view)
    streams = afterwards(view).streams
    for copy in copies(view.stream_of(change.address) or "", config_of(change, view)):
        for field, value in limits_that_forbid_copying(streams.get(copy.origin, {}), view.target.version).items():
            yield Finding(
                outcome=Outcome.WARNS,
                path="" if change.address.kind == "elastic_group" else copy.path,
                message=f"the server copies nothing of {copy.origin}: its consumer_limits have {field} {value}, and refuse the "
                "consumer through which the server copies",
                fix=WAYS_OUT[field] + _caveat_about_consumers(field, copy.origin, view),
            )
        if no_place := _no_place_text(copy.origin, view):
            yield Finding(
                outcome=Outcome.WARNS,
                path="" if change.address.kind == "elastic_group" else copy.path,
                message=f"the server copies nothing of {copy.origin}: {no_place} (10026)",
                fix=f"write a higher max_consumers on {copy.origin}",
            )


def _unfed_copies(change: Change) -> Iterator[Finding]:
    """Copies of which the server reports an error, or that have heard nothing of their origin since it started."""
    reported = change.live.state if change.live else {}
    mirror, sources = reported.get("mirror"), reported.get("sources") or ()
    for path, entry in [("mirror", mirror)] if mirror else [(f"sources[{n}]", each) for n, each in enumerate(sources)]:
        error, api = entry.get("error"), (entry.get("external") or {}).get("api")
        if error:
            why, fix = f"{error.get('description')} ({error.get('err_code')})", f"see what became of {entry['name']}"
        elif api and entry.get("active") == -1:
            why = f"nothing has answered at {api} since the server started"
            fix = f"let this account import what lies below {api}, or correct external"
        else:
            continue
        yield Finding(
            outcome=Outcome.WARNS, path=path, message=f"the server copies nothing of {entry['name']}: {why}", fix=fix
        )


def _own_domain(change: Change, view: View) -> Iterator[Finding]:
    """Copies that ask at the prefix of their own domain, where only clients and leaf nodes are answered."""
    own_prefix = f"$JS.{view.target.domain}.API"
    for path, entry in sources_of(config_of(change, view)):
        if view.target.domain and (entry.get("external") or {}).get("api") == own_prefix:
            yield Finding(
                outcome=Outcome.WARNS,
                path=f"{path}.external.api",
                message=f"the server copies nothing of {entry['name']}: this stream lies in domain {view.target.domain} itself, "
                f"whose servers do not answer each other at {own_prefix}",
                fix="leave external out, if the origin lies in the same account",
            )


def _caveat_about_consumers(field: str, origin: str, view: View) -> str:
    """An older server takes a removed limit for 0."""
    if field != PENDING or can_remove_limit(view.target.version) or not list(consumer_readers(origin, view)):
        return ""
    return f"; this server refuses that beside consumers that acknowledge (10069), so only while {origin} has none"


def _no_place_text(origin: str, view: View) -> str:
    """Why there is no place for the consumer through which the server copies; empty: there is one for each copy."""
    after = afterwards(view)
    most = after.streams.get(origin, {}).get("max_consumers") or 0
    copying = [copier.stream for copier in after.copiers.get(origin, ())]  # each has a consumer of its own
    if most <= 0 or not copying or view.target.version >= V2_15:
        return ""
    existing = len(list(consumer_readers(origin, view)))
    if existing + len(copying) <= most:
        return ""
    are = "consumer is" if existing == 1 else "consumers are"
    copies_text = f"beside what feeds {listed(sorted(set(copying)))}"
    return f"{some(existing)} {are} declared or live there {copies_text}, and max_consumers allows {some(most)}"


@rule("XX211", "copy-stops-at-large", on=WRITTEN, needs=("neighbours",), reaction=Reaction.HARMS)
def copy_stops_at_large(change: Change, view: View) -> Iterator[Finding]:
    """A mirror or sourcing stream has a `max_msg_size`, and its origin accepts larger messages.

    At the first message that is too large the server stops copying, and tries it again and again until the limit is
    raised. `nats stream info` shows a lag, and no error. On 2.11 a mirror leaves the message out and continues, and a
    source leaves it out if it is the first of all. Before 2.14, a work queue or an interest stream deletes such messages
    and those after them as if they were copied: they are lost. A source adds a header to each message, so its limit has
    to be some hundred bytes above that of the origin.

    If both have a limit and the copy's is below, the server refuses the copy (XX205).

    Instead: leave `max_msg_size` out of the copy, or limit the origin below it.
    """
    if not view.is_stream(change.address):
        return
    name, after = view.stream_of(change.address) or "", afterwards(view)
    config, own = after.streams.get(name, {}), view.kinds[change.address.kind].own_name("max_msg_size")
    if is_new(change, "mirror", "sources", own):
        for copy in copies(name, config):
            if copy.origin in after.streams and (
                text := _larger_messages_text(config, copy, after.streams[copy.origin])
            ):
                yield _stop_finding(copy, f"stream {copy.origin} {text}", after.streams[copy.origin], view, path=own)
    if change.touches(own):
        for copy in after.copiers.get(name, ()):
            its = after.made_by.get(copy.stream)
            if its and its.action in WRITTEN and is_new(its, "mirror", "sources", "max_msg_size", "max_value_size"):
                continue  # the change of the copy says it
            if text := _larger_messages_text(after.streams[copy.stream], copy, config):
                yield _stop_finding(copy, f"this stream {text}", config, view, path=own, affected=True)


def _larger_messages_text(config: Config, copy: Copy, origin: Config) -> str:
    """What its origin accepts that the copy does not, in words; empty: nothing, or the server refuses it."""
    own, theirs = largest_message_of(config), largest_message_of(origin)
    if not own or 0 < own < theirs:
        return ""
    if not theirs:
        return f"accepts messages of any size, and {copy.stream} only up to {written_size(own)}"
    if copy.is_mirror or own >= theirs + SOURCE_HEADER:
        return ""
    text = f"with the header of a source they may exceed {written_size(own)} in {copy.stream}"
    return f"accepts messages up to {written_size(theirs)}; {text}"


def _stop_finding(copy: Copy, text: str, origin: Config, view: View, path: str, *, affected: bool = False) -> Finding:
    version, retention = view.target.version, origin.get("retention")
    is_lost = version < V2_14 and retention in ("workqueue", "interest")
    if is_lost:
        fate = f"{copy.origin} deletes larger ones, and those after them, although {copy.stream} does not store them"
    elif copy.is_mirror and version < V2_12:
        fate = f"{copy.stream} leaves larger ones out"
    elif version < V2_12:
        fate = (
            f"{copy.stream} leaves the first message out if it is larger, and stops copying at the next larger one, until the limit is "
            "raised"
        )
    else:
        fate = f"at the first larger one {copy.stream} stops copying, until the limit is raised"
    return Finding(
        outcome=Outcome.WARNS,
        path=path,
        affects=dependants.streams([copy.stream], view) if affected else dependants.everybody(copy.stream, view),
        message=f"{text}: {fate}",
        fix=f"leave the limit out of {copy.stream}, or limit {copy.origin} some hundred bytes below it",
    )


ROLLS_UP, MARKS = "allow_rollup_hdrs", "subject_delete_marker_ttl"


@rule("XX214", "copy-stops-at-rollup", on=WRITTEN, needs=("neighbours",), until=V2_14, reaction=Reaction.HARMS)
def copy_stops_at_rollup(change: Change, view: View) -> Iterator[Finding]:
    """The origin of a mirror or source has `allow_rollup_hdrs`, its copy has not, and the server is older than 2.14.

    At the first message with `Nats-Rollup` such a copy stops: it stores neither that message nor any after it, also after a
    restart, and `nats stream info` shows no error, at most a lag. Every purge of a key in a bucket is such a message, and so
    is the marker of a subject whose last message expires. On 2.11 a mirror leaves the message out and continues. The queue
    of an elastic group is a copy as well.

    The copying continues within a second once the copy has `allow_rollup_hdrs` too, and with the upgrade to 2.14, with what
    the origin still stores then. Where markers begin at an origin, the copying stops when the first subject expires, so this
    needs consent.

    Instead: write `allow_rollup_hdrs: true` for the copy too, which then obeys the header; or upgrade to nats-server 2.14
    first.
    """
    if (name := view.stream_of(change.address)) is None:
        return
    after, marks = afterwards(view), view.kinds[change.address.kind].own_name(MARKS)
    config = after.streams.get(name, {})
    if is_new(change, "mirror", "sources", ROLLS_UP):
        for copy in copies(name, config):
            if _is_stopped(copy, after.streams.get(copy.origin, {}), config, view):
                path = ROLLS_UP if change.was(ROLLS_UP) else copy.path if view.is_stream(change.address) else ""
                yield _rollup_finding(copy, after.streams[copy.origin], view, path)
    for copy in after.copiers.get(name, ()) if change.touches(ROLLS_UP, marks) else ():
        its = after.made_by.get(copy.stream)
        if its and its.action in WRITTEN and is_new(its, "mirror", "sources", ROLLS_UP):
            continue  # the change of the copy says it
        if _is_stopped(copy, config, after.streams[copy.stream], view):
            begins = bool(change.becomes(marks)) and not change.was(marks)
            path = marks if begins else ROLLS_UP
            yield _rollup_finding(copy, config, view, path, to=change.becomes(marks) if begins else None)


def _is_stopped(copy: Copy, origin: Config, config: Config, view: View) -> bool:
    leaves_out = copy.is_mirror and view.target.version < V2_12
    return bool(origin.get(ROLLS_UP)) and not config.get(ROLLS_UP) and not leaves_out


def _rollup_finding(copy: Copy, origin: Config, view: View, path: str, to: int | None = None) -> Finding:
    first = "when the first subject expires there" if origin.get(MARKS) else "at the first one"
    takes = _is_configurable_stream(copy, view)
    return Finding(
        outcome=Outcome.NEEDS_CONSENT if to else Outcome.WARNS,
        path=path,
        to=to,
        affects=dependants.everybody(copy.stream, view) + dependants.streams([copy.stream], view),
        message=f"stream {copy.origin} takes messages with `Nats-Rollup`, and {copy.stream} does not: {first}, {copy.stream} stops "
        f"copying, also after a restart, until {'it takes them too' if takes else 'the server is 2.14'}",
        fix=f"{f'write {ROLLS_UP}: true for {copy.stream} too, or ' if takes else ''}upgrade to nats-server 2.14 first",
    )


def _is_configurable_stream(copy: Copy, view: View) -> bool:
    """The queue of a group has no such setting."""
    return Address.of("stream", copy.stream) in {*view.live, *view.desired}


RULES = (copy_stops_at_large, copy_stops_at_rollup, copy_not_fed)
