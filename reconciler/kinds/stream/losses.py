"""Stream changes that cost messages or readers, with what live state says about how many."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.core.diff import Action, Change
from reconciler.core.rule import Finding, Found, Outcome, Reaction, View, rule
from reconciler.kinds.primitives.losses import limit_lowered
from reconciler.kinds.primitives.words import consent_to, size, some


@rule("ST302", "interest-retention", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def interest_retention(change: Change, _view: View) -> Found:
    """Retention changes from limits to interest on a stream that holds messages.

    Messages that every consumer has acknowledged go at once; without any consumer, servers from 2.15 on remove all of
    them.

    Instead: make sure every consumer is there and behind, or consent: `allow: [{code: ST302, to: interest, reason: …}]`.
    """
    messages = change.live.state.get("state", {}).get("messages", 0) if change.live else 0
    if not (change.touches("retention") and change.becomes("retention") == "interest" and messages):
        return None
    consumers = change.live.state.get("state", {}).get("consumer_count", 0) if change.live else 0
    kept = (
        f"what none of {some(consumers, 'consumer')} still wants goes"
        if consumers
        else "all may go, since nobody consumes,"
    )
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path="retention",
        to="interest",
        quantities={"messages": messages},
        message=f"of {some(messages, 'stored message')}, {kept} at apply",
        fix=f"consent here if that is meant: {consent_to('ST302', 'interest')}",
    )


@rule("ST303", "subject-removed", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def subject_removed(change: Change, _view: View) -> Found:
    """A subject is no longer captured: its publishers get "no responders" from then on; stored messages stay.

    Instead: move the publishers first.
    """
    gone = sorted(set(change.was("subjects") or ()) - set(change.becomes("subjects") or ()))
    if not gone:
        return None
    return Finding(
        outcome=Outcome.WARNS,
        path="subjects",
        message=f"{', '.join(gone)} will no longer be stored as such; publishers get no answer unless another subject covers it",
    )


@rule("ST310", "stream-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)
def stream_deletion(change: Change, view: View) -> Iterator[Finding]:
    """A stream is removed with everything in it: messages, and all its consumers, whoever made them.

    `removed:` is the consent; this says what it costs. Consumers that the files do not remove need a consent of their own.

    Instead: `forget:` the stream, which leaves it as it is, or empty it first.
    """
    state = change.live.state.get("state", {}) if change.live else {}
    name, messages = change.address.name, state.get("messages", 0)
    if losing := list(_lose_consumers(name, view)):
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path="",
            quantities={"consumers": len(losing)},
            message=f"consumers that this topology does not remove go with it: {', '.join(losing[:5])}"
            + (f" and {len(losing) - 5} more" if len(losing) > 5 else ""),
            fix="write them into `removed` as well, or allow ST310 for this run: --allow ST310=" + str(change.address),
        )
    if messages:
        yield Finding(
            outcome=Outcome.WARNS,
            quantities={"messages": messages, "bytes": state.get("bytes", 0)},
            message=f"with it go {some(messages, 'message')} ({size(state.get('bytes', 0))})",
        )


def _lose_consumers(name: str, view: View) -> Iterator[str]:
    removed = {c.address.name for c in view.children(name, "consumer") if c.action is Action.DELETE}
    for consumer in (view.snapshot.consumers if view.snapshot else {}).get(name, {}):
        if consumer not in removed:
            yield consumer


RULES = (limit_lowered("ST"), interest_retention, subject_removed, stream_deletion)
