"""What servers fix when a stream is created, or let change only one way: the same for every family of streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reconciler.changes.change import Action, Change, FieldChange
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.fields.known import Known
from reconciler.kinds.fields.words import side_in_words
from reconciler.kinds.stream_config.config_checks import StreamConfigs, objection
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config


@dataclass(frozen=True, slots=True)
class Fixed:
    """A field's rule in words: its code and name, why the server cares, and what to do instead."""

    code: str
    name: str
    why: str
    instead: str
    consentable: bool = False
    also: tuple[int, ...] = ()
    """What the server answers if it complains first about something else in the same change."""
    part_of: str = ""
    """A field that sets this one too. If that field is taken back, its own rule says everything."""
    with_consent: str = ""
    """What happens if the kind knows another way, for the rule's page."""


Manner = Callable[[Change, View, Finding], Finding | None]
"""What becomes of a refusal if the kind knows another way."""


def _wanted_and_live(change: Change) -> tuple[Config, Config]:
    return change.desired.config if change.desired else {}, change.live.config if change.live else {}


def updatability_rules(
    fields: Mapping[str, Known],
    fixed: Mapping[str, Fixed],
    *,
    of: str,
    manner: Manner = lambda _change, _view, refusal: refusal,
    stream_configs: StreamConfigs = _wanted_and_live,
) -> tuple[Rule, ...]:
    """One rule per entry; the versions and the server's answer come from the field's own table. `stream_configs` gives the
    configurations that the server compares."""
    return tuple(
        _rule_of_field(field, fields[field], words, of, manner, stream_configs) for field, words in fixed.items()
    )


def _rule_of_field(
    field: str, entry: Known, words: Fixed, of: str, manner: Manner, stream_configs: StreamConfigs
) -> Rule:
    def judge(change: Change, view: View) -> Iterator[Finding]:
        desired, before = stream_configs(change)
        wanted, live = desired.get(field), before.get(field)
        if before.get(words.part_of) and not desired.get(words.part_of):
            return
        if entry.may_become(live, wanted, view.target.version):
            return
        for field_change in (item for item in change.fields if item.top == field):
            refusal = Finding(
                outcome=Outcome.REFUSED,
                path=field_change.path,
                message=f"{field_change.path} cannot {_attempt_in_words(field_change, entry)}. {words.why}",
                fix=words.instead,
                to=field_change.desired,
                consentable=words.consentable,
            )
            if finding := manner(change, view, refusal):
                yield finding

    summary = f"`{field}` of an existing {of} changes. Updates: {entry.updatability_text}."
    judge.__doc__ = "\n\n".join((summary, words.why, f"Instead: {words.instead}{words.with_consent}."))
    return rule(
        words.code,
        words.name,
        on=(Action.UPDATE,),
        needs=("live",),
        since=entry.since,  # a server that does not know the field refuses no change of it
        err_code=(*((entry.err_code,) if entry.err_code else ()), *words.also),
    )(judge)


def _attempt_in_words(field_change: FieldChange, entry: Known) -> str:
    """The attempted change: adding and removing are no changes from or to nothing."""
    if field_change.desired is None and entry.default is None:
        return "go back to the server's own" if entry.depends else "be removed"
    live, desired = (side_in_words(field_change, value) for value in (field_change.live, field_change.desired))
    if field_change.live is None and entry.default is None:
        if entry.depends:
            return f"change to {desired}"
        return f"be added ({desired})" if isinstance(field_change.desired, str | int) else "be added"
    return f"change from {live} to {desired}"


SUBJECTS_OF_ITS_OWN = 10034
"""What servers may complain about first if a stream becomes a mirror."""
MIRROR = (
    "The server fixes at creation whether a stream is a mirror, and of what. "
    "From 2.12 on, removing `mirror` makes it an ordinary stream; that cannot be undone."
)


def fixed_field_words(family: str, *, another: str, stays: Callable[[str], str]) -> dict[str, Fixed]:
    """The words of each field's rule, by field. `another` is the alternative of a second stream; `stays` tells how a
    file leaves a field as it is."""
    never = {
        "storage": (101, "storage-change", "The server fixes storage at creation."),
        "retention": (
            102,
            "workqueue-retention-change",
            "The server never turns a stream into a work queue, or a work queue into something else.",
        ),
        "mirror": (103, "mirror-change", MIRROR),
        "max_consumers": (104, "max-consumers-change", "Servers before 2.12.5 fix it at creation."),
        "allow_msg_counter": (105, "counter-change", "The server fixes at creation whether a stream counts."),
        "persist_mode": (106, "persist-mode-change", "The server fixes it at creation."),
        "sealed": (201, "unsealing", "A sealed stream stays sealed."),
        "deny_delete": (202, "delete-denial-cancelled", "Once denied, deleting stays denied."),
        "deny_purge": (203, "purge-denial-cancelled", "Once denied, purging stays denied."),
        "allow_msg_ttl": (204, "message-ttl-disabled", "Stored messages may already carry a time to live."),
        "allow_msg_schedules": (205, "schedules-disabled", "The stream may already store schedules."),
    }
    ways = {
        "mirror": "declare the mirror under another name, and let its readers move there; to promote a mirror, remove `mirror` on "
        "servers from 2.12 on",
        "max_consumers": "upgrade the servers to 2.12.5 or newer",
    }
    return {
        field: Fixed(
            f"{family}{number}",
            name,
            why,
            ways.get(field, f"{stays(field)}, or {another}"),
            part_of="sealed" if field.startswith("deny_") else "",
            also=(SUBJECTS_OF_ITS_OWN,) if field == "mirror" else (),
        )
        for field, (number, name, why) in never.items()
    }


def seal_at_creation_rule(family: str) -> Rule:
    """The rule ST108, under the code of a family."""

    def judge(change: Change, _view: View) -> Found:
        """A new stream is declared sealed.

        The server refuses to create a sealed stream, since nothing could ever be stored in it.

        Instead: create it, fill it, then declare `sealed: true`.
        """
        if not change.becomes("sealed"):
            return None
        return objection(
            "sealed",
            "a new stream cannot be sealed: the server refuses it, since nothing could ever be stored in it",
            "create and fill it first, then declare sealed: true",
        )

    return rule(f"{family}108", "seal-at-creation", on=(Action.CREATE,), err_code=10052, can_stand=True)(judge)
