"""Consumer changes that cost messages or positions: a filter that changes, a consumer that goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Json
from reconciler.core.rule import Finding, Found, Outcome, Reaction, View, rule
from reconciler.core.wire import MessagesFrom, Question
from reconciler.kinds.consumer.around import changes_of
from reconciler.kinds.consumer.handovers import switches
from reconciler.kinds.primitives.readers import behind, filters
from reconciler.kinds.primitives.subjects import collide, is_subset
from reconciler.kinds.primitives.words import Amount, amount, consent_to, exactly, listed, some

FILTERS = ("filter_subject", "filter_subjects")
Info = Mapping[str, Json]


def questions(change: Change) -> Iterator[Question]:
    """What lies before and after the position of a consumer whose filter changes."""
    if change.action is Action.UPDATE and change.touches(*FILTERS) and change.live and change.desired:
        move = _move(change)
        yield from (*_ahead(move), *_all(move, move.after), *_all(move, move.before))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """A filter change of a consumer that stands somewhere."""

    stream: str
    before: Sequence[str]
    after: Sequence[str]
    position: int
    pending: int

    @property
    def narrows(self) -> bool:
        return all(any(is_subset(new, old) for old in self.before) for new in self.after)

    @property
    def widens(self) -> bool:
        return all(any(is_subset(old, new) for new in self.after) for old in self.before)

    @property
    def overlaps(self) -> bool:
        return any(collide(old, new) for old in self.before for new in self.after)


def _move(change: Change) -> _Move:
    info = change.live.state if change.live else {}
    return _Move(
        stream=change.address.names[0],
        before=filters(change.live.config if change.live else {}),
        after=filters(change.desired.config if change.desired else {}),
        position=info.get("delivered", {}).get("stream_seq", 0),
        pending=info.get("num_pending", 0),
    )


def _ahead(move: _Move) -> list[MessagesFrom]:
    return [MessagesFrom(stream=move.stream, start=move.position + 1, filter=one) for one in move.after]


def _all(move: _Move, subjects: Sequence[str]) -> list[MessagesFrom]:
    return [MessagesFrom(stream=move.stream, start=1, filter=one) for one in subjects]


def number_of(asked: Sequence[MessagesFrom], view: View) -> int | None:
    """Messages in all of these answers; None: nobody counted some of them."""
    answers = [view.facts.get(one) for one in asked]
    known = [one["messages"] for one in answers if isinstance(one, Mapping) and "messages" in one]
    return sum(known) if len(known) == len(answers) else None


@rule("CO301", "filter-change", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def filter_change(change: Change, view: View) -> Found:
    """The filter of a consumer changes: it goes on from where it is, and never turns back.

    What is pending and no longer matches is skipped. What matches only now and lies before its position is never
    delivered. On an interest stream the server removes at once what is skipped and nobody else wants. On a work queue what
    is skipped waits for a consumer that takes it, and one that takes more is made to start over, so that it misses nothing.

    Instead: declare a second consumer with the new filter, which starts where you say; or let this one work off what is
    pending first.
    """
    if not (change.touches(*FILTERS) and change.live and change.desired):
        return None
    move = _move(change)
    ahead = number_of(_ahead(move), view)
    retention = retention_of(move.stream, view)
    skipped = _skipped(move, ahead)
    missed = exactly(0) if retention == "workqueue" else _missed(move, ahead, view)
    path = next(one.path for one in change.fields if one.top in FILTERS)
    if not skipped.most and (missed is None or not missed.most) and not (missed is None and move.position):
        return None
    drops = retention == "interest" and skipped.most > 0
    said = [*_skips(skipped, move, retention), *_misses(missed, move)]
    return Finding(
        outcome=Outcome.NEEDS_CONSENT if drops else Outcome.WARNS,
        path=path,
        to=change.becomes(path) if drops else None,
        message="; ".join(said),
        quantities=({"messages": skipped.most} if drops else {"skipped": skipped.most})
        | ({} if missed is None else {"missed": missed.most}),
        fix="declare a second consumer with the new filter, or let this one work off what is pending first"
        + (f", or consent here: {consent_to('CO301', change.becomes(path))}" if drops else ""),
    )


def _skipped(move: _Move, ahead: int | None) -> Amount:
    """Pending now, and not matching any more."""
    if move.widens or not move.pending:
        return exactly(0)
    if not move.overlaps:
        return exactly(move.pending)
    if move.narrows and ahead is not None:
        return exactly(max(0, move.pending - ahead))
    return Amount(0, move.pending)


def _missed(move: _Move, ahead: int | None, view: View) -> Amount | None:
    """Stored before its position, and matching only now; None: nobody counted."""
    if move.narrows or not move.position:
        return exactly(0)
    stored, before = number_of(_all(move, move.after), view), number_of(_all(move, move.before), view)
    if stored == 0:
        return exactly(0)
    if stored is None or ahead is None:
        return None
    passed = max(0, stored - ahead)
    if not move.overlaps:
        return exactly(passed)
    if move.widens and before is not None:
        return exactly(max(0, passed - max(0, before - move.pending)))
    return Amount(0, passed)


def _skips(skipped: Amount, move: _Move, retention: str) -> Iterator[str]:
    if not skipped.most:
        return
    fate = {
        "interest": ", and they go at apply unless another consumer wants them",
        "workqueue": ", and they wait until a consumer takes them",
    }.get(retention, "")
    yield f"it skips {amount(skipped)} of {some(move.pending, 'pending message')}{fate}"


def _misses(missed: Amount | None, move: _Move) -> Iterator[str]:
    where = f"of {listed(list(move.after))} up to its position (sequence {move.position})"
    if missed is None:
        yield f"what is stored {where} is never delivered; how much that is was not counted"
    elif missed.most:
        yield f"{amount(missed, 'message')} stored {where} {'is' if missed.most == 1 else 'are'} never delivered"


def retention_of(stream: str, view: View) -> str:
    """When this consumer changes: while its stream keeps everything, also where it does so only now, before or after."""
    if stream in switches(view):
        return "limits"
    info = view.snapshot.streams.get(stream, {}) if view.snapshot else {}
    return str(info.get("config", {}).get("retention", "limits"))


@rule("CO310", "consumer-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)
def consumer_deletion(change: Change, view: View) -> Found:
    """A consumer is removed: its position is lost, and on interest streams the messages only it wanted.

    `removed:` is the consent; this says what it costs.

    Instead: let it work off what is pending first, or `forget:` it, which leaves it as it is.
    """
    info = change.live.state if change.live else {}
    pending, unacknowledged = info.get("num_pending", 0), info.get("num_ack_pending", 0)
    using = _clients(info)
    if not behind(info) and not using:
        return None
    parts = {f"{some(pending, 'message')} not yet delivered": pending,
             f"{some(unacknowledged, 'message')} not yet acknowledged": unacknowledged}  # fmt: skip
    lost = f"{listed([said for said, number in parts.items() if number])} lose their reader"
    dropped, fate = _fate(change, info, view) if behind(info) else (0, "")
    return Finding(
        outcome=Outcome.WARNS,
        quantities={"undelivered": pending, "unacknowledged": unacknowledged}
        | ({"dropped": dropped} if dropped else {}),
        message="; ".join(filter(None, (lost + fate if behind(info) else "", using))),
    )


def _fate(change: Change, info: Info, view: View) -> tuple[int, str]:
    """What becomes of the messages it still wanted: how many are dropped at most, and in words."""
    stream, name = change.address.names
    retention = retention_of(stream, view)
    if retention == "workqueue":
        return 0, ": they stay until another consumer takes them"
    if retention != "interest":
        return 0, ""
    there = (view.snapshot.consumers if view.snapshot else {}).get(stream, {})
    others = [other["config"] for key, other in there.items() if key != name]
    coming = [one.desired.config for one in changes_of(view)[stream] if one.desired and one.live is None]
    mine = filters(info["config"])
    if any(collide(one, two) for other in (*others, *coming) for one in filters(other) for two in mine):
        return behind(info), f", and up to {some(behind(info))} go at apply: those that no other consumer wants"
    return behind(info), " and go at apply, since no other consumer wants them"


def _clients(info: Info) -> str:
    waiting = info.get("num_waiting", 0)
    if waiting:
        return f"{some(waiting, 'pull request')} {'is' if waiting == 1 else 'are'} waiting on it now"
    return "a client is subscribed to it now" if info.get("push_bound") else ""


RULES = (filter_change, consumer_deletion)
