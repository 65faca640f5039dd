"""Live objects that will not survive the next start: the server accepted an update whose result it refuses when it
starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import Change
from reconciler.changes.rule import Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.actions import STANDING
from reconciler.kinds.fields.words import size, some
from reconciler.kinds.stream_config.config_checks import ConfigCheck, OwnName, Sent
from reconciler.kinds.stream_config.stream_config import canonical
from reconciler.model.resource import Json

FOR_LIFE = frozenset({"sealed", "allow_msg_counter"})
"""No update removes these."""
COPY = "create a second stream that sources this one, and read from that once it has everything"


def doomed_live(family: str, checks: Sequence[ConfigCheck], own: OwnName = lambda name: name) -> Rule:
    """Make rule 320 of a family of kinds: the checks that servers make at every start, applied to what is live."""
    refusing = [check for check in checks if check.err_codes]

    def judge(change: Change, view: View) -> Iterator[Finding]:
        """A live stream has a configuration that this server refuses when it starts, or that the next version refuses.

        Servers check updates less strictly than what they find in their store. The server accepted an update, and at its next
        restart or upgrade it loses the stream with everything in it. That needs no further change, so every plan says it.

        Instead: write the configuration that the message asks for and apply it before any server restarts.
        """
        if change.live is None:
            return
        config = change.live.config if family == "ST" else canonical(change.live.state["config"])
        as_it_is = Sent(config=config, target=view.target, is_new=False, own=own)
        for check in refusing:
            for finding in check.check(as_it_is):
                if finding.outcome is Outcome.REFUSED and finding.reaction in (None, Reaction.REFUSES, Reaction.DOOMS):
                    yield _restart_loss_finding(finding, change.live.state)

    rules = rule(f"{family}320", "doomed-live", on=STANDING, needs=("live",), reaction=Reaction.DOOMS)
    return rules(judge)


def _restart_loss_finding(finding: Finding, info: Json) -> Finding:
    """The finding of the check, with what is lost and how urgent it is."""
    state = info.get("state", {})
    messages = state.get("messages", 0)
    lost = (
        f"this stream and its {some(messages, 'message')} ({size(state.get('bytes', 0))})"
        if messages
        else "this empty stream"
    )
    when = "upgrade" if "next version" in finding.message else "restart"
    return Finding(
        outcome=Outcome.WARNS,
        path=finding.path,
        message=f"the server will lose {lost} at its next {when}: {finding.message}",
        fix=f"before any server restarts: {COPY if finding.path in FOR_LIFE else finding.fix}",
        quantities={"messages": state.get("messages", 0), "bytes": state.get("bytes", 0)},
    )
