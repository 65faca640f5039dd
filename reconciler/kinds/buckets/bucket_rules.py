"""Rules that KV buckets and object stores share: what the server fixes, what costs data, and which names are valid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.buckets.bucket import BucketShape, change_of_stream, stream_body
from reconciler.kinds.effects.effect_rules import Effects
from reconciler.kinds.effects.one_way import one_way_rule
from reconciler.kinds.effects.stream_effects import FAMILIES
from reconciler.kinds.fields.versions import reserved_metadata_rule, too_young_rule
from reconciler.kinds.fields.words import size, some
from reconciler.kinds.losses.fewer_copies import replicas_lowered_rule
from reconciler.kinds.losses.lowered_limits import limit_lowered_rule
from reconciler.kinds.losses.made_again import made_again_rule
from reconciler.kinds.losses.uncaptured import subject_removed
from reconciler.kinds.losses.unprocessed import is_durable
from reconciler.kinds.stream_config.config_checks import CHECKS as RANGES
from reconciler.kinds.stream_config.config_checks import ConfigCheck, rules_of_family
from reconciler.kinds.stream_config.fixed_fields import fixed_field_words, updatability_rules
from reconciler.kinds.stream_config.mirrors_and_sources import CHECKS as COPIES
from reconciler.kinds.stream_config.restarts import doomed_live_rule
from reconciler.kinds.stream_config.stream_config import FIELDS, StreamConfig
from reconciler.model.ledger.records import RESERVED
from reconciler.model.resource import Config, Resource

ANOTHER = "declare a second one under another name and copy what is in it"


def bucket_effects(family: str, shape: BucketShape) -> Effects:
    """Effects that are foretold of a bucket: the table of stream fields, as far as its file can state them."""
    return Effects(family=family, fields=FIELDS, families=FAMILIES, own=shape.own_name, keys=shape.keys)


def bucket_rules(family: str, shape: BucketShape) -> tuple[Rule, ...]:
    """The rules of every kind of bucket, with this family's codes and the bucket's own field names."""

    def keep_advice(field: str) -> str:
        if field in shape.keys:
            return f"keep `{field}` as it is live"
        return f"leave it as found (`unmanaged: [{field}]`), declare it under `streams` with its live settings, as `export` writes it"

    def stream_configs(change: Change) -> tuple[Config, Config]:
        return stream_config_of(shape, change.desired), stream_config_of(shape, change.live)

    return (
        *updatability_rules(
            FIELDS,
            fixed_field_words(family, another=ANOTHER, stays=keep_advice),
            of=shape.noun,
            stream_configs=stream_configs,
        ),
        one_way_rule(family, stream_configs),
        limit_lowered_rule(family, shape.own_name, counts=is_durable),
        replicas_lowered_rule(family, shape.own_name, counts=is_durable),
        _rule_about_deletion(family, shape),
        _rule_about_subjects(family, shape),
        made_again_rule(family, shape.own_name, shape.stream),
        too_young_rule(family, StreamConfig),
        _rule_about_name(family, shape),
        reserved_metadata_rule(family),
        *bucket_effects(family, shape).rules(),
        *bucket_checks(family, shape, RANGES),
        doomed_live_rule(family, (*RANGES, *COPIES), shape.own_name),
    )


def bucket_checks(family: str, shape: BucketShape, checks: Sequence[ConfigCheck]) -> tuple[Rule, ...]:
    """Checks of the stream behind a bucket, under this family's codes and the bucket's own names."""

    def stream_configs(change: Change) -> tuple[Config, Config]:
        desired = replace(change.desired, config=change.desired.sent) if change.desired else None
        return stream_config_of(shape, desired), stream_config_of(shape, change.live)

    return rules_of_family(family, checks, stream_configs, shape.own_name)


def stream_config_of(shape: BucketShape, resource: Resource | None) -> Config:
    """The configuration of the stream behind a bucket, in the server's names; empty without a bucket."""
    return stream_body(shape, resource) if resource else {}


def _rule_about_subjects(family: str, shape: BucketShape) -> Rule:
    def judge(change: Change, view: View) -> Found:
        return subject_removed.judge(change_of_stream(shape, change), view) if change.touches("subjects") else None

    judge.__doc__ = f"""Somebody gave the {shape.noun}'s stream another subject, and apply takes it away: its publishers get
        "no responders" from then on.

        The stream is for what clients put into the {shape.noun}. Messages under the other subject stay in it, where no client
        of the {shape.noun} sees them.

        Instead: move the publishers to a stream first.
        """
    return rule(
        f"{family}303", "subject-removed", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS
    )(judge)


def _rule_about_deletion(family: str, shape: BucketShape) -> Rule:
    def judge(change: Change, _view: View) -> Found:
        state = change.live.state.get("state", {}) if change.live else {}
        if not (messages := state.get("messages", 0)):
            return None
        return Finding(
            outcome=Outcome.WARNS,
            quantities={"messages": messages, "bytes": state.get("bytes", 0)},
            message=f"this deletes {some(messages, 'stored message')} ({size(state.get('bytes', 0))})",
        )

    judge.__doc__ = f"""Apply deletes the {shape.noun} with everything in it.

        `removed:` is the consent to the deletion; this verdict says what it costs. XX231 says who reads or copies it.
        Mirrors in other accounts and domains are in no plan: no server lists them. Run `nats stream report` there to see
        what is copied.

        Instead: `forget:` the {shape.noun}, which leaves it as it is, or copy what is in it first.
        """
    name = f"{_noun_in_rule_names(shape)}-deletion"
    return rule(f"{family}310", name, on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)(judge)


def _noun_in_rule_names(shape: BucketShape) -> str:
    """The kind's word in the name of a rule: `object-store`."""
    return shape.noun.replace(" ", "-")


def _rule_about_name(family: str, shape: BucketShape) -> Rule:
    def judge(change: Change, _view: View) -> Found:
        name = change.address.name
        if name in RESERVED:
            why = "is reserved for the records of groups and of reconciler"
        elif len(name) > shape.longest:
            why = f"is longer than {shape.longest} letters; the name of its stream begins with `{shape.prefix}` and has 255 at most"
        elif not re.fullmatch(shape.name_pattern, name):
            why = f"is not a valid {shape.noun} name; use letters, digits, `_` and `-`"
        else:
            return None
        return Finding(outcome=Outcome.REFUSED, message=f"`{name}` {why}", fix="choose another name")

    judge.__doc__ = f"""Client libraries refuse the name of the {shape.noun}, or the name is reserved.

        A name consists of letters, digits, `_` and `-`, and has at most {shape.longest} of them. `reconciler`,
        `static-consumer-groups` and `elastic-consumer-groups` are reserved for the records of reconciler and of groups.

        Instead: choose another name.
        """
    return rule(f"{family}542", f"bad-{_noun_in_rule_names(shape)}-name")(judge)
