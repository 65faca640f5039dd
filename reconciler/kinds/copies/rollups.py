"""Copies that do not take `Nats-Rollup`, of streams that do: before 2.14 the first such message stops the copying."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import Copy, afterwards, copies
from reconciler.kinds.copies.copy_rules import WRITTEN, is_new
from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.losses import dependants
from reconciler.model.resource import Address, Config

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
            if _stops(copy, after.streams.get(copy.origin, {}), config, view):
                path = ROLLS_UP if change.was(ROLLS_UP) else copy.path if view.is_stream(change.address) else ""
                yield _finding(copy, after.streams[copy.origin], view, path)
    for copy in after.copiers.get(name, ()) if change.touches(ROLLS_UP, marks) else ():
        its = after.made_by.get(copy.stream)
        if its and its.action in WRITTEN and is_new(its, "mirror", "sources", ROLLS_UP):
            continue  # the change of the copy says it
        if _stops(copy, config, after.streams[copy.stream], view):
            begins = bool(change.becomes(marks)) and not change.was(marks)
            path = marks if begins else ROLLS_UP
            yield _finding(copy, config, view, path, to=change.becomes(marks) if begins else None)


def _stops(copy: Copy, origin: Config, config: Config, view: View) -> bool:
    leaves_out = copy.is_mirror and view.target.version < V2_12
    return bool(origin.get(ROLLS_UP)) and not config.get(ROLLS_UP) and not leaves_out


def _finding(copy: Copy, origin: Config, view: View, path: str, to: int | None = None) -> Finding:
    first = "when the first subject expires there" if origin.get(MARKS) else "at the first one"
    takes = _can_take(copy, view)
    return Finding(
        outcome=Outcome.NEEDS_CONSENT if to else Outcome.WARNS,
        path=path,
        to=to,
        affects=dependants.everybody(copy.stream, view) + dependants.streams([copy.stream], view),
        message=f"stream {copy.origin} takes messages with `Nats-Rollup`, and {copy.stream} does not: {first}, {copy.stream} stops "
        f"copying, also after a restart, until {'it takes them too' if takes else 'the server is 2.14'}",
        fix=f"{f'write {ROLLS_UP}: true for {copy.stream} too, or ' if takes else ''}upgrade to nats-server 2.14 first",
    )


def _can_take(copy: Copy, view: View) -> bool:
    """The queue of a group has no such setting."""
    return Address.of("stream", copy.stream) in {*view.live, *view.desired}


RULES = (copy_stops_at_rollup,)
