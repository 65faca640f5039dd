"""What is live and will not survive the next start: an update was taken whose result the server refuses when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.diff import Change
from reconciler.changes.rule import Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.checks import STANDING
from reconciler.kinds.fields.words import size, some
from reconciler.kinds.stream_config.stream_config import canonical
from reconciler.kinds.stream_config.validity import OwnName, Sent, Validity
from reconciler.model.resource import Json

FOR_LIFE = frozenset({"sealed", "allow_msg_counter"})
"""No update takes these back."""
COPY = "make a second stream that sources this one, and read from that when it has everything"


def doomed_live(family: str, checks: Sequence[Validity], own: OwnName = lambda name: name) -> Rule:
    """The 320 of a family: the checks that servers make at every start, on what is there."""
    refusing = [one for one in checks if one.err_codes]

    def judge(change: Change, view: View) -> Iterator[Finding]:
        """A live stream has a configuration that this server refuses when it starts, or that the next version refuses.

        Updates are checked less strictly than what is found in the store: the server said ok to one, and after its next
        restart or upgrade the stream is gone, with everything in it. Nothing needs to change for that, so every plan says it.

        Instead: write the configuration that the message asks for and apply it before any server restarts.
        """
        if change.live is None:
            return
        config = change.live.config if family == "ST" else canonical(change.live.state["config"])
        as_it_is = Sent(config=config, target=view.target, is_new=False, own=own)
        for one in refusing:
            for found in one.check(as_it_is):
                if found.outcome is Outcome.REFUSED and found.reaction in (None, Reaction.REFUSES, Reaction.DOOMS):
                    yield _doom(found, change.live.state)

    rules = rule(f"{family}320", "doomed-live", on=STANDING, needs=("live",), reaction=Reaction.DOOMS)
    return rules(judge)


def _doom(found: Finding, info: Json) -> Finding:
    """Said as the check says it, with what goes and that it is urgent."""
    state = info.get("state", {})
    messages = state.get("messages", 0)
    stored = f"its {some(messages, 'message')} ({size(state.get('bytes', 0))})" if messages else "which is empty,"
    when = "upgrade" if "next version" in found.message else "restart"
    return Finding(
        outcome=Outcome.WARNS,
        path=found.path,
        message=f"this stream{' and' if messages else ','} {stored} will be gone after the next {when} of the server: "
        f"{found.message}",
        fix=f"before any server restarts: {COPY if found.path in FOR_LIFE else found.fix}",
        quantities={"messages": state.get("messages", 0), "bytes": state.get("bytes", 0)},
    )
