"""Stream changes that cannot be undone, such as sealing, denying and promoting a mirror, and what they mean for stored
messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_12
from reconciler.kinds.fields.words import consent_to, listed_few, size, some, verb
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.over_limit import state_of, stream_of
from reconciler.kinds.losses.uncaptured import refused_publishers_sentence
from reconciler.kinds.stream_config.config_checks import StreamConfigs
from reconciler.kinds.stream_config.origins import deleted_streams, taken_subjects
from reconciler.kinds.subjects.subject_lists import any_collide
from reconciler.model.units import show_duration
from reconciler.model.wire.questions import MessagesFrom
from reconciler.model.wire.snapshot import mirror_hears_origin

DENIED = {
    "deny_delete": "single messages can never again be deleted through the API",
    "deny_purge": "the stream can never again be purged",
}


def one_way_rule(family: str, stream_configs: StreamConfigs) -> Rule:
    """Make rule 206 of a family of kinds. `stream_configs` gives the configurations of its streams, in which no field has another name."""
    code = f"{family}206"

    def judge(change: Change, view: View) -> Iterator[Finding]:
        wanted, live = stream_configs(change)
        seals = wanted.get("sealed") and not live.get("sealed")
        for path, text in (
            {"sealed": _sealing_effect_text(change)}.items() if seals else DENIED.items()
        ):  # sealing denies both
            if wanted.get(path) and not live.get(path):
                dry = dependants.everybody(stream_of(change), view) if seals else ()
                yield replace(_one_way_finding(code, path, True, text), affects=dry)
        is_promoted = change.was("mirror") and not change.becomes("mirror")
        if is_promoted and view.target.version >= V2_12:  # before, no server does it, and another rule refuses it
            yield from _refuse_removed_origin(change, view)
            text, behind = _promotion_text(change, view)
            yield _one_way_finding(
                code,
                "mirror",
                None,
                f"{text}{_caveat_about_subjects(change, view)}{_caveat_about_publishers(change, view)}",
                behind,
            )

    judge.__doc__ = f"""A change cannot be undone: sealing, denying deletes or purges, promoting a mirror.

        The server does it, and refuses the way back as long as the stream exists.

        Instead: leave it as it is; or consent, with a reason: `allow: [{{code: {code}, to: true, reason: …}}]`.
        """
    return rule(code, "one-way-change", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.ONE_WAY)(judge)


def _sealing_effect_text(change: Change) -> str:
    """What sealing does to the stored messages. Consumers of interest streams and work queues still delete what they
    acknowledge."""
    messages, stored = state_of(change).get("messages", 0), state_of(change).get("bytes", 0)
    shut = "from then on nothing can be stored, deleted or purged"
    if not messages:
        return f"{shut}, and the stream is empty"
    kept = f"its {some(messages, 'message')} ({size(stored)}) {verb(messages, 'stay')}"
    if change.was("retention"):
        return f"{shut}; {kept} until consumers have acknowledged them"
    age = change.was("max_age")
    return f"{shut}; {kept}" + (f", and max_age {show_duration(age)} no longer removes any" if age else "")


def _promotion_text(change: Change, view: View) -> tuple[str, int | None]:
    """What a promotion means, and how many messages never arrive: none, if apply waits for what is still to be
    copied."""
    copied = (change.live.state.get("mirror") or {}) if change.live else {}
    origin = copied.get("name") or change.was("mirror").get("name", "its origin")
    text = f"the stream stops copying {origin} and becomes an ordinary stream"
    error, behind = (copied.get("error") or {}).get("description"), _messages_to_copy(change, view)
    if not change.live or not mirror_hears_origin(change.live.state):
        why = f"it does not copy now ({error or 'its origin has not been heard for a while'})"
        if behind is None:
            return f"{text}; {why}, so how far it is behind is not known", None
        return f"{text}; {why}, and it never gets {some(behind, 'message')} of {origin} that it lacks", behind
    lacks = "what it lacks" if behind is None else f"the {some(behind, 'message')} it lacks"
    waits = "" if behind == 0 else f"; apply waits until it has copied {lacks}"
    return f"{text}{waits}; it never gets what is published to {origin} afterwards", 0


def _refuse_removed_origin(change: Change, view: View) -> Iterator[Finding]:
    """A removed origin gives its subjects up before the mirror takes them, so it would be gone while the mirror still copies."""
    origin = (change.was("mirror") or {}).get("name", "")
    if origin in deleted_streams(view) and change.live and mirror_hears_origin(change.live.state):
        yield refusal(
            "mirror",
            f"{origin} is removed in the same plan, and would be gone before this mirror has copied all of it",
            f"promote the mirror with this plan, and remove {origin} with the next one",
            reaction=Reaction.HARMS,
        )


def _caveat_about_subjects(change: Change, view: View) -> str:
    """Clients look for the keys of a bucket under its own name, and the copies lie under that of their origin."""
    mirror, held, kind = (
        change.was("mirror") or {},
        state_of(change).get("messages", 0),
        view.kinds[change.address.kind],
    )
    name, origin = change.address.name, str(mirror.get("name", "")).removeprefix(kind.backing or "")
    if not kind.backing or not held or origin == name or mirror.get("subject_transforms") or change.desired is None:
        return ""
    subjects = [
        subject.replace(f".{name}.", f".{origin}.", 1)
        for subject in kind.as_stream(change.desired).get("subjects") or ()
    ]
    return (
        f"; the {some(held, 'message')} that it holds {verb(held, 'stay')} under {listed_few(subjects, 5)}, where clients of {name} "
        "do not look"
    )


def _caveat_about_publishers(change: Change, view: View) -> str:
    """Publishers of its origin feel it if they publish to the mirror from now on: it may take the subjects of its origin, or
    of one that this account does not know."""
    origin, wanted = str((change.was("mirror") or {}).get("name", "")), change.becomes("subjects") or ()
    theirs = view.snapshot.config_of(origin).get("subjects")
    takes_over = not theirs or any_collide(wanted, theirs)
    if view.kinds[change.address.kind].backing or not wanted or not takes_over:
        return ""
    return (
        ". It knows no message ids (`Nats-Msg-Id`) of what it copied, so what is published again is stored again. "
        f"{refused_publishers_sentence(origin)}"
    )


def to_copy(change: Change) -> MessagesFrom | None:
    """What its origin has that a promoted mirror lacks; None: this account cannot count it."""
    mirror = change.was("mirror") or {}
    subjects = taken_subjects(mirror)
    if not mirror or change.becomes("mirror") or {"external", "opt_start_time"} & mirror.keys() or len(subjects) > 1:
        return None
    start = max(state_of(change).get("last_seq", 0) + 1, mirror.get("opt_start_seq", 1))
    return MessagesFrom(stream=mirror["name"], start=start, filter=subjects[0])


def _messages_to_copy(change: Change, view: View) -> int | None:
    question = to_copy(change)
    answer = view.facts.get(question) if question else None
    if not isinstance(answer, Mapping):
        return None
    return 0 if answer["first"] is None else answer.get("messages")


def _one_way_finding(code: str, path: str, value: object, text: str, lost: int | None = None) -> Finding:
    stay = f"write `{path}: false`, as it is; or " if value else ""
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=path,
        to=value,
        quantities={} if lost is None else {"messages": lost},
        message=f"{path} cannot be undone as long as this stream exists: {text}",
        fix=f"{stay}consent here if that is meant: {consent_to(code, value)}",
    )
