"""Replaces what no update can change: first an intent, then the old object is deleted and the new one takes its place.

The order makes every interruption harmless. The intent holds everything needed to continue before anything is deleted,
and it is deleted once the new object is recorded as owned. The kinds say what happens in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.change import Action, Change, FieldClass
from reconciler.changes.kind import Kind
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.changes.view import View
from reconciler.engine.bindings import SEEN
from reconciler.engine.pairing.identity import server_identity
from reconciler.engine.pairing.unfinished import RESUMED, start_and_config_given
from reconciler.model.ledger.entries import compact_json
from reconciler.model.ledger.intents import Intent, encode_intent, intent_key
from reconciler.model.ledger.records import BUCKET, Owned, encode_key, encode_owned
from reconciler.model.resource import Config, Consent, Resource
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Bind, Call, Step


def replaces(verdicts: Iterable[Verdict]) -> bool:
    """Does a verdict say that the object is recreated, since no update makes this change?"""
    return any(verdict.outcome is Outcome.REPLACES for verdict in verdicts)


def with_final_action(change: Change, verdicts: Sequence[Verdict]) -> Change:
    """An update that no server makes in place becomes a replacement."""
    if change.action is not Action.UPDATE or not replaces(verdicts):
        return change
    return replace(change, action=Action.REPLACE, reason=RESUMED if change.intent else change.reason)


def new_intent(
    change: Change, verdicts: Sequence[Verdict], allowed: Iterable[Consent], record: Owned, view: View
) -> Intent:
    """The intent that is noted before anything happens, except the position."""
    live = change.live or view.live[change.origin or change.address]
    paths = (verdict.path for verdict in verdicts if verdict.outcome is Outcome.REPLACES)
    tops = (path.partition(".")[0] for path in paths if path)  # a name is no field
    real = view.live[change.origin or change.address].config  # as the server shows it; in `live` the file's words stand
    passing = {
        field_change.top
        for field_change in change.fields
        if field_change.field_class is FieldClass.UNFINISHED and field_change.info.passing
    }
    stood, made = start_and_config_given(real, change.intent, change.owned) if change.intent else ({}, {})
    return Intent(
        topology=record.topology,
        source=record.source,
        git_revision=record.git_revision,
        created=live.state.get("created", ""),
        old={name: value for name, value in live.config.items() if name not in passing},
        wanted=change.desired.config if change.desired else {},
        fields=tuple(dict.fromkeys(tops)),
        made=made,
        stood=stood,
        allow=tuple(allowed),
    )


def replacement_steps(change: Change, intent: Intent, kind: Kind, view: View, record: Owned) -> tuple[Step, ...]:
    """The whole replacement, one step after the other."""
    if kind.replace is None:
        raise TypeError(f"a rule of kind {kind.name} replaces, but the kind does not say how")
    how = kind.replace(change, view)
    intent = replace(intent, start=how.start, notes=how.notes, ready=not how.bound)
    bound, starts = how.bound, {path: step for path, step in how.bound.items() if path.startswith("start.")}
    noted = (_note_step(change, replace(intent, ready=True), view, bound, "ready"),) if bound else ()
    middle = (_note_step(change, intent, view, {}, "begun"), *how.before, *noted, *how.swap)
    tidied = kind.tidy(replace(change, intent=intent), view)
    creating, learned = _with_creation_recorded(middle, change, kind)
    remembered = _record_step(change, replace(record, start=how.start), view, starts | learned)
    row = chained_steps((*creating, *tidied, remembered, *_forget_old_name(change, view), _end_step(change, view)))
    return (*row, replace(how.back, undoes=how.swap[-1].id)) if how.back else row


def finishing_steps(change: Change, kind: Kind, view: View, record: Owned | None) -> tuple[Step, ...]:
    """Steps that are left of an interrupted replacement, or to clean up if it is no longer wanted."""
    if change.intent and change.desired and record and change.live is None and kind.stands(change, view):
        wanted = replace(change.intent, wanted=change.desired.config)
        return replacement_steps(change, wanted, kind, view, record)
    own, start = without_replacement(change), change.intent.start if change.intent else {}
    if own.action is Action.CREATE and change.desired:
        start = kind.resume(change, view)
        own = replace(own, desired=with_start(change.desired, start))
    creating, learned = _with_creation_recorded(kind.steps(own, view), change, kind)
    steps = [*_note_of_new_wish(change, start, view), *creating, *kind.tidy(change, view)]
    if record and change.action is Action.REPLACE:
        steps.append(_record_step(change, replace(record, start=start), view, learned))
    elif record and change.intent and (change.began or change.intent.made):  # what only the intent knows
        steps.append(_record_step(change, record, view, learned))
    return chained_steps((*steps, _end_step(change, view)))


def _note_of_new_wish(change: Change, start: Config, view: View) -> Iterator[Step]:
    """A note of what is made now, if the file or the position is another than the noted one: a run after another interruption
    knows by it what this one has made."""
    intent, desired = change.intent, change.desired
    if intent is None or desired is None or change.live is not None:
        return
    unmanaged = {name: value for name, value in intent.wanted.items() if name in desired.terms.unmanaged}
    anew = replace(intent, start=start or intent.start)
    if (wanted := {**unmanaged, **desired.config}) != intent.wanted:
        anew = replace(anew, wanted=wanted, fields=_differing_fields(intent.old, wanted))
    if anew != intent:
        yield _note_step(change, anew, view, {}, "anew")


def _differing_fields(old: Config, new: Config) -> tuple[str, ...]:
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def _with_creation_recorded(steps: Sequence[Step], change: Change, kind: Kind) -> tuple[list[Step], dict[str, str]]:
    """The steps, and the part of the record that only the creating step knows: what the server fills in, and which object it
    made."""
    creates = (Call.CONSUMER_CREATE, Call.STREAM_CREATE)
    itself = kind.primary(change.address).on
    creating = next((step for step in reversed(steps) if step.call in creates and step.on == itself), None)
    if creating is None or change.desired is None:
        return [*steps], {}
    learned = {"filled": creating.id, **{f"seen.{name}": creating.id for name in SEEN}}
    return [replace(step, bind=Bind.MADE) if step is creating else step for step in steps], learned


def without_replacement(change: Change) -> Change:
    """The change of the object itself, whatever else is left of a replacement."""
    if change.action is Action.REPLACE and change.live is None:
        return replace(change, action=Action.CREATE)
    if change.action in (Action.REPLACE, Action.UPDATE):
        action = Action.UPDATE if change.fields else Action.KEEP
        return change if action is change.action else replace(change, action=action)
    return change


def with_start(resource: Resource, start: Config) -> Resource:
    """The resource with this start instead of its own."""
    config = {**resource.config, **start}
    return replace(resource, config={name: value for name, value in config.items() if value is not None})


def chained_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps, each after the one before it."""
    row: list[Step] = []
    for step in steps:
        row.append(replace(step, after=(row[-1].id,)) if row else step)
    return tuple(row)


def _note_step(change: Change, intent: Intent, view: View, uses: Mapping[str, str], reached: str) -> Step:
    content = "its position" if uses else "the old and the new configuration, and the consent"
    return _put_step(
        change, view, intent_key(change.address), encode_intent(intent), uses,
        id_=f"note {change.address} {reached}", effect=f"note that {change.address} is being replaced: {content}",
    )  # fmt: skip


def _record_step(change: Change, record: Owned, view: View, uses: Mapping[str, str]) -> Step:
    value = encode_owned(replace(record, seen=server_identity(view.snapshot.target)))
    return _put_step(
        change, view, encode_key(change.address), value, uses,
        id_=f"remember {change.address}", effect=f"record {change.address} as applied, with its start",
    )  # fmt: skip


def _forget_old_name(change: Change, view: View) -> Iterator[Step]:
    """The record under the old name."""
    if change.origin and _revision(view.snapshot, key := encode_key(change.origin)):
        effect = f"forget {change.origin}, which is now {change.address}"
        yield _delete_step(change, view, key, id_=f"forget {change.origin}", effect=effect)


def _put_step(
    change: Change, view: View, key: str, record: Config, uses: Mapping[str, str], *, id_: str, effect: str
) -> Step:
    return Step(
        id=id_,
        call=Call.ENTRY_PUT,
        on=(BUCKET, key),
        address=str(change.address),
        value=compact_json(record).decode(),
        revision=_revision(view.snapshot, key),
        uses=uses,
        effect=effect,
    )


def _end_step(change: Change, view: View) -> Step:
    effect = f"note that {change.address} is no longer being replaced"
    id_ = f"end the replacement of {change.address}"
    return _delete_step(change, view, intent_key(change.address), id_=id_, effect=effect)


def _delete_step(change: Change, view: View, key: str, *, id_: str, effect: str) -> Step:
    return Step(
        id=id_,
        call=Call.ENTRY_DELETE,
        on=(BUCKET, key),
        address=str(change.address),
        revision=_revision(view.snapshot, key),
        effect=effect,
    )


def _revision(snapshot: Snapshot, key: str) -> int:
    """The revision that a compare-and-set must expect; markers of deleted entries count too."""
    entry = snapshot.entries.get(BUCKET, {}).get(key)
    return entry.revision if entry else 0
