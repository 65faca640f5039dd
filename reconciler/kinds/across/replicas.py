"""Replicas and placement: a cluster changes one of them, and the other only when all replicas are current (10123).

More replicas may need the new placement, so the placement changes first. A smaller placement may not hold the old
number, so fewer replicas come before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.stages import FirstStage, Tie, final_value_first
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.fields import peers
from reconciler.kinds.fields.words import listed, some, verb
from reconciler.model.wire.questions import ALL_SERVERS, Peers, Unanswered


def ties(view: View) -> Iterator[Tie]:
    """In a cluster, an update of both replicas and placement needs two stages: more replicas come last, fewer come
    first."""
    if not view.target.is_clustered:
        return
    for address, change in view.changes.items():
        if view.is_stream(address) and change.action is Action.UPDATE and _changes_both(change):
            yield Tie(address, address, gives="placement" if _added_replicas(change) > 0 else "num_replicas")


def _changes_both(change: Change) -> bool:
    """Removing a placement moves nothing, and can be combined with anything."""
    return change.touches("num_replicas") and change.touches("placement") and bool(change.becomes("placement"))


def _added_replicas(change: Change) -> int:
    """How many replicas are added."""
    return int(change.becomes("num_replicas") or 1) - int(change.was("num_replicas") or 1)


def _placement_first(change: Change, _view: View) -> FirstStage:
    effect = f"move {change.address.name} to its new placement, before its number of replicas changes"
    return final_value_first(change, "placement", effect)


def _replicas_first(change: Change, _view: View) -> FirstStage:
    effect = (
        f"change the replicas of {change.address.name} to {change.becomes('num_replicas') or 1}, before anything else"
    )
    return final_value_first(change, "num_replicas", effect)


@rule("XX227", "too-few-servers", needs=("facts",), err_code=10005)
def too_few_servers(change: Change, view: View) -> Found:
    """A stream is to have more replicas than its cluster has servers, or than have the tags that `placement` names.

    Each replica needs a server of its own, in one cluster, with all these tags; the server refuses it otherwise (10005).
    For more than three replicas, and where `placement` names a cluster or tags, reconciler asks the servers which they
    are. If it may not ask, nobody knows. Nor does anybody where one server alone answers: after a reload of its
    configuration a server passes on no more than the first answer, until it restarts.

    Instead: fewer replicas, more servers, or another placement.
    """
    for question in peers.questions(change, view) if view.is_stream(change.address) else ():
        answer = view.facts.get(question)
        if answer is None or isinstance(answer, Unanswered):
            return _undetermined_servers_finding(question, f" ({answer.reason})" if answer else "")
        servers = question.fitting_servers(answer["servers"], view.target.version)
        if servers < question.least:
            if peers.is_cut_short(answer["servers"]):
                return _undetermined_servers_finding(
                    question, " (one server alone answered, as after a reload of its configuration)"
                )
            return _too_few_servers_finding(question, servers, view)
    return None


def _undetermined_servers_finding(question: Peers, why: str) -> Finding:
    wanted = question.least
    return Finding(
        outcome=Outcome.WARNS,
        path="num_replicas",
        message=f"{some(wanted, 'replica')} {verb(wanted, 'need')} {some(wanted, 'server')}{_tags_text(question)}, and how many "
        f"there are could not be determined{why}; with fewer, the server refuses {'it' if wanted == 1 else 'them'}",
        fix=f"let this user publish to {ALL_SERVERS}, or see `nats server list` as an administrator",
        reaction=Reaction.DOES,
    )


def _too_few_servers_finding(question: Peers, servers: int, view: View) -> Finding:
    wanted, (cluster, _tags) = question.least, question.placement
    where = f"cluster {cluster or view.target.cluster}{_tags_text(question)}"
    return refusal(
        "num_replicas" if servers else "placement",
        f"{some(wanted, 'replica')} {verb(wanted, 'need')} {some(wanted, 'server')}, and {where} has {servers} that answer",
        f"write num_replicas: {1 if servers < 3 else 3} or less" if servers else "write another placement",
        quantities={"servers": servers},
    )


def _tags_text(question: Peers) -> str:
    _cluster, tags = question.placement
    return f" with {'tag' if len(tags) == 1 else 'tags'} {listed([*tags])}" if tags else ""


RULES = (too_few_servers,)
FIRST_STAGES = {"placement": _placement_first, "num_replicas": _replicas_first}
