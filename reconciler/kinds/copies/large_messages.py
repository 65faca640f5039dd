"""Copies that accept only smaller messages than their origins store: a large one ends the copying."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import Copy, afterwards, copies
from reconciler.kinds.copies.copy_rules import WRITTEN, is_new, largest_message_of
from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.fields.words import written_size
from reconciler.kinds.losses import dependants
from reconciler.kinds.stream_config.mirrors_and_sources import SOURCE_HEADER
from reconciler.model.resource import Config


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


RULES = (copy_stops_at_large,)
