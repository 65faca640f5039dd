"""What may not be done to a stream, or only with consent: rules made from the field table, rules about what is lost, and
rules that judge live state."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Reaction
from reconciler.changes.view import View
from reconciler.kinds.effects.effect_rules import Effects
from reconciler.kinds.effects.one_way import one_way_rule, to_copy
from reconciler.kinds.effects.stream_effects import FAMILIES
from reconciler.kinds.fields import peers
from reconciler.kinds.fields.versions import reserved_metadata_rule, too_young_rule
from reconciler.kinds.fields.words import side_in_words
from reconciler.kinds.losses import lowered_limits, made_again, pushed_out, sources_changed, uncaptured
from reconciler.kinds.losses.fewer_copies import replicas_lowered_rule
from reconciler.kinds.losses.lowered_limits import limit_lowered_rule
from reconciler.kinds.losses.pushed_out import copies_push_out_rule
from reconciler.kinds.losses.sources_changed import copied_again_rule, left_behind_rule
from reconciler.kinds.losses.uncaptured import subject_removed
from reconciler.kinds.losses.unprocessed import taking_questions, uncounted_questions
from reconciler.kinds.stream.consumers import RULES as CONSUMERS
from reconciler.kinds.stream.contradictions import CHECKS as FIELDS_TOGETHER
from reconciler.kinds.stream.contradictions import RULES as SUBJECTS
from reconciler.kinds.stream.deletion import stream_deletion
from reconciler.kinds.stream.retention import interest_retention, turns_to_interest
from reconciler.kinds.stream_config.config_checks import CHECKS as RANGES
from reconciler.kinds.stream_config.config_checks import objection, rules_of_family
from reconciler.kinds.stream_config.fixed_fields import fixed_field_words, seal_at_creation_rule, updatability_rules
from reconciler.kinds.stream_config.mirrors_and_sources import CHECKS as COPIES
from reconciler.kinds.stream_config.restarts import doomed_live_rule
from reconciler.kinds.stream_config.rewriting import CHECKS as REWRITING
from reconciler.kinds.stream_config.stream_config import FIELDS, StreamConfig
from reconciler.model.resource import Config, OtherOwner, Resource, owner_in
from reconciler.model.wire.questions import Question


def questions(change: Change, view: View) -> Iterator[Question]:
    """Questions on whose answers the losses of a stream depend, beyond its state."""
    yield from lowered_limits.questions(change, view)
    yield from sources_changed.questions(change, view)
    yield from made_again.questions(change, view, change.address.name)
    yield from made_again.elsewhere_questions(change, view)
    yield from pushed_out.questions(change, view)
    yield from peers.questions(change, view)
    if question := to_copy(change):
        yield question
    if turns_to_interest(change):
        yield from taking_questions(change.address.name, view)
    if change.action is Action.DELETE:
        yield from uncounted_questions(change.address.name, view)
    yield from uncaptured.questions(change)


LOSSES = (
    limit_lowered_rule("ST"),
    interest_retention,
    subject_removed,
    copied_again_rule("ST"),
    left_behind_rule("ST"),
    copies_push_out_rule("ST"),
    replicas_lowered_rule("ST"),
    stream_deletion,
    made_again.made_again_rule("ST"),
)


NEW_STREAM = "declare a second stream that sources this one, and move publishers and consumers to it"

FIXED = fixed_field_words("ST", another=NEW_STREAM, stays=lambda field: f"keep `{field}` as it is live")


@rule("ST107", "first-sequence-change", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.INERT)
def first_sequence_change(change: Change, _view: View) -> Found:
    """`first_seq` of an existing stream changes.

    The server answers ok and shows the new number, but its sequences continue as before. Only a new stream follows
    `first_seq`.

    Instead: leave `first_seq` as it is live, or declare a new stream.
    """
    if (field_change := change.field("first_seq")) is None:
        return None
    return objection(
        "first_seq",
        "first_seq has no effect on an existing stream: the server would answer ok and do nothing",
        f"write first_seq: {field_change.live or 0}, as it is live, or declare a new stream",
        to=field_change.desired,
    )


@rule("ST109", "external-mismatch", on=(Action.KEEP,), needs=("live",))
def external_mismatch(change: Change, view: View) -> Iterator[Finding]:
    """A stream that someone else manages is missing, or is not what this file expects.

    With `external: true` the file states expectations only. Reconciler never creates or changes such a stream.

    Instead: talk to its owner, or correct the expectation.
    """
    if not (change.desired and change.desired.external):
        return
    if change.live is None and not _is_created_here(change.address.name, view):
        yield objection(
            "external",
            "this external stream does not exist here, and reconciler does not create what someone else manages",
            _way_to_missing_text(change.desired),
        )
    for item in change.fields:
        live, expected = side_in_words(item, item.live), side_in_words(item, item.desired)
        yield objection(
            item.path,
            f"this external stream has {item.path} {live}, and the file expects {expected}",
            "talk to its owner, or correct what this file expects",
        )


def _is_created_here(stream: str, view: View) -> bool:
    """Does a bucket of the same files create it?"""
    declared = (view.desired.get(address) for address in view.backed_by(stream))
    return any(resource is not None and not resource.external for resource in declared)


def _way_to_missing_text(desired: Resource) -> str:
    owner = owner_in(desired.terms)
    advice = f"apply `{owner}` first, with this stream declared" if owner else "ask its owner to create it"
    return f"{advice}, or check that this is the right account"


@rule("ST507", "external-with-configuration", on=(Action.KEEP,))
def external_with_configuration(change: Change, _view: View) -> Iterator[Finding]:
    """A stream with `external: true` has fields that only its owner can decide.

    Beside `external: true` the file may state consumers, groups, and the `subjects` and `retention` it expects. A stream
    has one name, on the server, in its owner's files and here: `external: {from: topology/orders, stream: ORDERS}` can
    only repeat it.

    Instead: remove the other fields, or remove `external` and manage the stream here.
    """
    if change.desired and change.desired.external:
        yield from _check_stated_name(change.desired)
        for path in sorted(change.desired.config.keys() - {"subjects", "retention"}):
            yield objection(
                path,
                f"an external stream cannot have {path} in the file: only subjects and retention can be expected",
                "remove this field, or manage the stream here",
            )


def _check_stated_name(desired: Resource) -> Iterator[Finding]:
    external, name = vars(desired.terms).get("external"), desired.address.name
    stated = external.stream if isinstance(external, OtherOwner) else None
    if stated not in (None, name):
        yield objection(
            "external.stream",
            f"the stream is {stated} here and {name} above: it has one name, under which files declare it",
            f"write `{stated}:` in place of `{name}:`, or remove `stream`",
        )


def _sent_and_live(change: Change) -> tuple[Config, Config]:
    return change.desired.sent if change.desired else {}, change.live.config if change.live else {}


EFFECTS = Effects(family="ST", fields=FIELDS, families=FAMILIES)

CHECKS = (*RANGES, *COPIES, *REWRITING, *FIELDS_TOGETHER)

RULES = (
    *updatability_rules(FIELDS, FIXED, of="stream"),
    first_sequence_change,
    seal_at_creation_rule("ST"),
    external_mismatch,
    one_way_rule("ST", _sent_and_live),
    *LOSSES,
    *SUBJECTS,
    *CONSUMERS,
    *EFFECTS.rules(),
    too_young_rule("ST", StreamConfig),
    external_with_configuration,
    reserved_metadata_rule("ST"),
    *rules_of_family("ST", CHECKS, _sent_and_live),
    doomed_live_rule("ST", CHECKS),
)
