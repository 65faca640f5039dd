"""What a stream deletes because a copy of it begins: from a work queue, and from 2.14 on from an interest stream, what is
copied and no consumer wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import config_of
from reconciler.kinds.fields.words import amount, listed
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.added_sources import NewSource, drained, retention_afterwards
from reconciler.kinds.losses.unprocessed import claimed, gave_up
from reconciler.kinds.stream_config.origins import taken_subjects
from reconciler.kinds.subjects.filters import FILTERS, filters_of
from reconciler.kinds.subjects.subjects import is_subset, meets
from reconciler.model.resource import Address, Json

Consumers = Mapping[str, Mapping[str, Json]]
UNTOUCHED = (Action.KEEP, Action.ADOPT)


@rule(
    "XX209",
    "copied-and-deleted",
    on=(Action.CREATE, Action.UPDATE),
    needs=("neighbours", "facts"),
    reaction=Reaction.HARMS,
)
def copied_and_deleted(change: Change, view: View) -> Iterator[Finding]:
    """A mirror, a source or an elastic group begins to copy from a work queue.

    For a work queue a copy is a consumer like any other. Consumers still get what they want, and the copy gets all of it.
    But the queue deletes what is copied and no consumer wants, both stored messages and new ones. A consumer that is
    created later does not get them. From 2.14 on, an interest stream too deletes what is copied, unless a consumer still
    wants it. Before 2.14, messages that the copy does not take, because it is full, are gone as well.

    Consumers that the same plan creates come before the copy.

    Instead: create the consumers that shall process these messages first; or let publishers fill a stream with `limits`
    retention that both copy.
    """
    if view.stream_of(change.address) is None:
        return
    for source in drained(change, view, config_of(change, view)):
        subjects, retention = taken_subjects(source.source), retention_afterwards(source.origin, view)
        staying = {
            name: info
            for name, info in view.snapshot.consumers.get(source.origin, {}).items()
            if _keeps_filters(source.origin, name, view)
        }
        if is_queue := retention == "workqueue":  # a consumer of a queue wants all that its filter matches
            wanted = [
                *(filters_of(info["config"]) for info in staying.values()),
                *_filters_of_new_consumers(source.origin, view),
            ]
            subjects = [subject for subject in subjects if not _is_covered_by_a_filter(subject, wanted)]
        goes = _deleted_at_once(source, subjects, staying, retention, view)
        if not (subjects if is_queue else goes.most):
            continue
        stream, later = ("work queue", subjects) if is_queue else ("interest stream", [])
        yield Finding(
            outcome=Outcome.WARNS,
            path=f"{source.path}.name" if view.is_stream(change.address) else "",
            quantities={"messages": goes},
            affects=dependants.streams([source.origin], view),
            message=f"{stream} {source.origin} deletes what is copied from it and no consumer wants: "
            + _deletion_text(goes, later),
            fix="create the consumers that shall process it first, or let both copy a stream with limits retention",
        )


def _keeps_filters(stream: str, name: str, view: View) -> bool:
    change = view.changes.get(Address.of("consumer", stream, name))
    return (
        change is None
        or change.action in UNTOUCHED
        or (change.action is Action.UPDATE and not change.touches(*FILTERS))
    )


def _filters_of_new_consumers(stream: str, view: View) -> Iterator[Sequence[str]]:
    """The filters of consumers that the plan creates there. They come before the copy."""
    for change in view.children(stream, "consumer"):
        if change.action is Action.CREATE and change.desired:
            yield filters_of(change.desired.config)


def _is_covered_by_a_filter(subject: str, wanted: Iterable[Sequence[str]]) -> bool:
    """Does one consumer want all of it?"""
    return any(is_subset(subject, wider) for filters in wanted for wider in filters)


def _deleted_at_once(one: NewSource, subjects: Sequence[str], staying: Consumers, retention: str, view: View) -> Amount:
    """How many messages go at once: those that are copied, less those that consumers want."""
    copied, wanted = one.copies(subjects), list[int]()
    most = 0
    for info in staying.values():
        filters = filters_of(info["config"])
        if not meets(filters, subjects):
            continue
        wants = claimed(one.origin, info, view)
        most += wants.most + gave_up(one.origin, info, view)
        is_whole = one.start.at == 1 and all(any(is_subset(mine, theirs) for theirs in subjects) for mine in filters)
        wanted.append(wants.least if is_whole else 0)
    least = sum(wanted) if retention == "workqueue" else max(wanted, default=0)
    is_joined = len(staying) < len(view.snapshot.consumers.get(one.origin, {})) or any(
        _filters_of_new_consumers(one.origin, view)
    )
    return Amount(0 if is_joined else max(0, copied.least - most), max(0, copied.most - least))


def _deletion_text(goes: Amount, later: Sequence[str]) -> str:
    at_once = f"{amount(goes, 'message')} at apply" if goes.most else "none at apply"
    new = "new ones" if list(later) == [">"] else f"new ones on {listed(list(later))}"
    return f"{at_once}, and {new} from then on" if later else at_once


RULES = (copied_and_deleted,)
