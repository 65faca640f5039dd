"""How the server feeds a copy: through a consumer of the origin, which the origin's own limits can forbid."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import consumer_readers
from reconciler.kinds.afterwards.streams import afterwards, config_of, copies
from reconciler.kinds.copies.copy_rules import AS_THE_COPY_SAYS, is_new
from reconciler.kinds.fields.known import V2_15
from reconciler.kinds.fields.words import in_words, listed, some
from reconciler.kinds.stream_config.origins import FED_FOR, IDLE, PENDING, can_remove_limit, limits_that_forbid_copying

WAYS_OUT = {
    PENDING: f"remove {PENDING} from these consumer_limits, and write it into each consumer",
    IDLE: f"write {IDLE}: {in_words(FED_FOR, 'duration')} or more into these consumer_limits",
}


@rule("XX228", "copy-not-fed", needs=("neighbours",), reaction=Reaction.INERT)
def copy_not_fed(change: Change, view: View) -> Iterator[Finding]:
    """The `consumer_limits` of an origin forbid the consumer through which the server feeds this copy.

    That consumer takes no acknowledgements and lasts for 10 seconds without a reader. So it cannot keep to a
    `max_ack_pending`, or to an `inactive_threshold` below 10s (10082, 10153). The server reports that only in the state
    of the copy, which copies nothing. Once the limit is removed, a server tries again about once a minute. `ST610` is
    about copies at work. From 2.14 on, work queues and interest streams feed their copies in another way, and these
    limits do no harm.

    Before 2.15 that consumer also counts for the origin's `max_consumers`: if all places are taken, the server copies nothing
    (10026). A consumer that takes the last place beside a copy at work stops it at the next restart.

    Instead: write `max_ack_pending` into each consumer in place of `consumer_limits`, and an `inactive_threshold` of
    10s or more; or leave a place for each copy in `max_consumers`.
    """
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


RULES = (copy_not_fed,)
