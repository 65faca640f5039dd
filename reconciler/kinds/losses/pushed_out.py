"""What a new source pushes out of a stream that has a limit: the server copies at once what the origin stores, and makes
room for it or refuses publishers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.words import amount, consent_to, listed, share, some, written_size
from reconciler.kinds.losses import over_limit, unprocessed
from reconciler.kinds.losses.added_sources import NewSource, new_sources
from reconciler.kinds.losses.dependants import everybody
from reconciler.kinds.losses.over_limit import REFUSING, OwnName, as_named, state_of, stream_of
from reconciler.kinds.losses.unprocessed import LostMessages
from reconciler.kinds.stream_config.origins import taken_subjects
from reconciler.model.wire.questions import Question

SEQUENCE = 20
"""The longest number of a message."""
OVERHEAD = 34
"""Bytes of a header that tells where a copy came from, beside what it tells."""


def copies_push_out_rule(family: str, own: OwnName = as_named) -> Rule:
    """The 307 of a family. `own` gives the kind's name for a stream's field."""

    def judge(change: Change, view: View) -> Found:
        """A source is added to a stream with a limit, and what it brings does not fit beside what is stored.

        The server copies at once what the origin stores. With `discard: old` it deletes the oldest messages of the stream to make
        room, even if nobody has processed them. With `discard: new` what does not fit waits, and the server refuses every publish
        (10077) until there is room. The plan says how many messages that are, as bounds where the size of each is not known.

        Instead: raise the limit in the same change; let the source start later, with `opt_start_seq` or `opt_start_time`; or give
        the copies a stream of their own.
        """
        return list(_findings_of_limits(family, change, view, own))

    harms = rule(
        f"{family}307",
        "copies-push-out",
        on=(Action.UPDATE,),
        needs=("live", "facts"),
        reaction=Reaction.HARMS,
    )
    return harms(judge)


def questions(change: Change, view: View, own: OwnName = as_named) -> Iterator[Question]:
    """What must be asked to tell what goes, and who has not processed it."""
    for limit in _reachable_limits(change, own):
        if over := _amount_over(change, view, limit, own):
            yield from over_limit.holes(change)
            if not over_limit.keeps_old_messages(change):
                yield from unprocessed.questions(
                    stream_of(change), _pushed_out_messages(change, view, limit, over), view
                )


def _reachable_limits(change: Change, own: OwnName) -> Iterator[str]:
    """Limits that the stream will have, and that copies can reach."""
    if change.action is Action.UPDATE and change.touches("sources"):
        yield from (limit for limit in REFUSING if over_limit.becomes(change, own(limit)))


def _findings_of_limits(family: str, change: Change, view: View, own: OwnName) -> Iterator[Finding]:
    for limit in _reachable_limits(change, own):
        if over := _amount_over(change, view, limit, own):
            tell = _refusal_finding if over_limit.keeps_old_messages(change) else _deletion_finding
            yield tell(f"{family}307", change, view, limit, own, over)


def _copies_at_once(change: Change, view: View) -> list[tuple[NewSource, Amount]]:
    counted = ((source, source.copies(taken_subjects(source.source))) for source in new_sources(change, view))
    return [(source, number) for source, number in counted if number.most]


def _amount_over(change: Change, view: View, limit: str, own: OwnName) -> Amount | None:
    """How much more than the limit keeps there is with the copies; None if everything fits."""
    coming = [_size_of_copies(limit, source, number) for source, number in _copies_at_once(change, view)]
    if not coming:
        return None
    beyond = state_of(change).get(REFUSING[limit], 0) - over_limit.becomes(change, own(limit))
    least, most = (
        sum(bounds) + beyond for bounds in zip(*((number.least, number.most) for number in coming), strict=True)
    )
    if most <= 0:
        return None
    guess = sum(number.about or 0 for number in coming) + beyond if limit != "max_msgs" else None
    return Amount(max(0, least), most, guess if guess is None else min(most, max(0, least, guess)))


def _size_of_copies(limit: str, source: NewSource, number: Amount) -> Amount:
    """What the copies of a source add to what is limited. A copy is larger than its original by a header."""
    if limit == "max_msgs":
        return number
    stored, messages = (int(source.origin_state.get(name, 0)) for name in ("bytes", "messages"))
    mean = -(-stored // messages) if messages else 0
    header = OVERHEAD + SEQUENCE + sum(map(len, _texts_of(source)))
    least = number.least * over_limit.smallest_message(source.change)
    # a header repeats the subject, which is part of what the origin stores, and perhaps every text of the source
    most = 2 * min(stored, number.most * over_limit.LARGEST) + number.most * (header + sum(map(len, _texts_of(source))))
    return Amount(min(least, most), most, number.most * (mean + header))


def _texts_of(source: NewSource) -> Iterator[str]:
    """What is written of the source and of the stream's own transform, of which a copy's subject and header are made."""
    renamings = [*(source.source.get("subject_transforms") or ()), source.change.becomes("subject_transform") or {}]
    yield source.origin
    yield str(source.source.get("filter_subject") or ">")
    for renaming in renamings:
        yield from map(str, renaming.values())


def _pushed_out_messages(change: Change, view: View, limit: str, over: Amount) -> LostMessages:
    """The oldest messages of the stream itself; copies of what is beyond them go too."""
    stored = int(state_of(change).get("messages", 0))
    by_number = Amount(min(over.least, stored), min(over.most, stored))
    messages = by_number if limit == "max_msgs" else over_limit.messages_weighing(over, change)
    return LostMessages(messages=messages, before=over_limit.first_kept(messages, change, view))


def _deletion_finding(code: str, change: Change, view: View, limit: str, own: OwnName, over: Amount) -> Finding:
    stream, state = stream_of(change), state_of(change)
    going, bringing = _pushed_out_messages(change, view, limit, over), _copies_at_once(change, view)
    late = unprocessed.unread_by_consumers(
        stream, state, going, view, counts=unprocessed.staying_consumer_test(stream, view)
    )
    quantity = {"unprocessed": late.furthest} if late.furthest.most else {}
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"{bringing[0][0].path}.name",
        to=bringing[0][0].origin,
        message=f"{_brought_text(bringing)}, and {own(limit)} is {_limit_text(change, limit, own)}: to make room it deletes "
        f"{share(going.messages, exactly(int(state.get('messages', 0))), 'message')} that are stored now, the oldest first{late.words}",
        quantities={"messages": going.messages, **quantity},
        affects=late.affects,
        fix=_fix_text(code, own(limit), bringing),
    )


def _refusal_finding(code: str, change: Change, view: View, limit: str, own: OwnName, over: Amount) -> Finding:
    bringing = _copies_at_once(change, view)
    waits = f"{amount(over, 'message')} of them wait" if limit == "max_msgs" else "not all of them fit"
    if limit == "max_msgs" and over.most == 1:
        waits = "1 of them waits"
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"{bringing[0][0].path}.name",
        to=bringing[0][0].origin,
        message=f"{_brought_text(bringing)}, and {own(limit)} is {_limit_text(change, limit, own)}: {waits}, and the server refuses every "
        "publish (10077) until there is room",
        quantities={"waiting": over} if limit == "max_msgs" else {},
        affects=everybody(stream_of(change), view),
        fix=_fix_text(code, own(limit), bringing),
    )


def _brought_text(bringing: Sequence[tuple[NewSource, Amount]]) -> str:
    many = [f"{amount(number, 'message')} of {source.origin}" for source, number in bringing]
    return f"the server at once copies {listed(many)}"


def _limit_text(change: Change, limit: str, own: OwnName) -> str:
    most = over_limit.becomes(change, own(limit))
    return some(most, "message") if limit == "max_msgs" else written_size(most)


def _fix_text(code: str, limit: str, bringing: Sequence[tuple[NewSource, Amount]]) -> str:
    source = bringing[0][0].source
    later = (
        "" if source.keys() & {"opt_start_seq", "opt_start_time"} else "let the source start later (opt_start_seq), "
    )
    return f"raise {limit} in the same change, {later}or consent here: {consent_to(code, source['name'])}"
