"""What a change of sources copies once more, or leaves behind.

A server knows a source by its origin, filter and transforms. With another filter it is another source, which starts at
the first message of its origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.times import moment
from reconciler.kinds.fields.words import amount, consent_to, few, some, verb
from reconciler.kinds.losses import added_sources, dependants
from reconciler.kinds.losses.added_sources import LastCopy, NewSource, new_sources, sources_of_new_streams
from reconciler.kinds.losses.made_again import purge_advice
from reconciler.kinds.losses.over_limit import OwnName, as_named, state_of, stream_of
from reconciler.kinds.stream_config.mirrors_and_sources import origin_label, origin_of, source_identity
from reconciler.kinds.stream_config.origins import given_subjects, taken_subjects
from reconciler.kinds.subjects.subject_lists import any_collide, intersections
from reconciler.model.resource import Address, Json
from reconciler.model.wire.snapshot import hears_origin

NOTHING = exactly(0)
STARTS = ("opt_start_seq", "opt_start_time", "consumer")
Source = Mapping[str, Json]


def copied_again_rule(family: str) -> Rule:
    """The 304 of a family."""

    def judge(change: Change, view: View) -> Found:
        """A source gets another filter or other transforms, or is added again with others, and the server copies messages twice.

        For the server that is a new source. Unless it says where to start, it starts with the first message that its origin
        stores, even if the stream already has it: consumers get such messages twice, and old values of a key follow newer ones.
        A source that existed before continues after its last copy that is still stored. If the stream has lost its own first
        messages, a source starts no earlier than the newest one there (305). A note says how many messages a new source copies
        at once.

        Instead: give the source `opt_start_seq` or `opt_start_time` to say where it starts; or declare a second stream.
        """
        return [*_copied_again_findings(family, change, view), *_removed_start_findings(change, view)]

    return rule(f"{family}304", "source-copied-again", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)(
        judge
    )


def questions(change: Change, view: View) -> Iterator[added_sources.Question]:
    """How much of an origin is copied, and how much of that once more."""
    yield from added_sources.questions(change, view)
    for _, source in _new_overlapping_sources(change, view):
        if new_source := _new_source(source, change, view):
            yield from new_source.count_questions(_overlapping_subjects(source, change))


def _copied_again_findings(family: str, change: Change, view: View) -> Iterator[Finding]:
    for index, source in _new_overlapping_sources(change, view):
        copied = _copied_once_more(source, change, view)
        if copied == NOTHING:
            continue
        source_begun = _new_source(source, change, view)
        goes_on = source_begun.continues_after if source_begun else None
        again = _copied_again_finding(f"{family}304", index, source, copied, goes_on)
        yield replace(again, affects=_affected_readers(source, change, view))


def _removed_start_findings(change: Change, view: View) -> Iterator[Finding]:
    """Sources whose start is taken out before they have copied anything."""
    if not change.touches("sources") or state_of(change).get("last_seq"):
        return
    before = _by_identity(change.was("sources"), view)
    for index, source in enumerate(change.becomes("sources") or ()):
        was = before.get(source_identity(source, view.target.version), source)
        if "opt_start_seq" in was and "opt_start_seq" not in source:
            yield Finding(
                outcome=Outcome.WARNS,
                path=f"sources[{index}].opt_start_seq",
                message=f"nothing of {source['name']} is stored here yet: if the server restarts before that, it copies {source['name']} "
                "from its first message on",
                fix=f"take it out when a message of {source['name']} is stored here",
            )


def _new_overlapping_sources(change: Change, view: View) -> Iterator[tuple[int, Source]]:
    """Sources that may copy what another one has already copied."""
    if change.action is not Action.UPDATE or not change.touches("sources") or not state_of(change).get("messages"):
        return
    before = _by_identity(change.was("sources"), view)
    for index, source in enumerate(change.becomes("sources") or ()):
        if _is_another(source, before, view):
            yield index, source


def _new_source(source: Source, change: Change, view: View) -> NewSource | None:
    return next((new_source for new_source in new_sources(change, view) if new_source.source == source), None)


def _overlapping_subjects(source: Source, change: Change) -> list[str]:
    """What the source takes of its origin that another one took before."""
    return intersections(
        taken_subjects(source),
        [subject for other in _same_earlier(source, change) for subject in taken_subjects(other)],
    )


def _same_earlier(source: Source, change: Change) -> list[Source]:
    return [earlier for earlier in change.was("sources") or () if _may_have_copied_same(source, earlier)]


def _copied_once_more(source: Source, change: Change, view: View) -> Amount | None:
    """How many messages are copied once more: those that it copies at once, if the earlier sources have copied them
    all; and more if the stream has others through sources that it had before. None: its origin lies elsewhere."""
    if not (source_begun := _new_source(source, change, view)):
        return None if _same_earlier(source, change) else NOTHING
    if source_begun.continues_after is not None:
        return NOTHING if source_begun.refused_by else Amount(0, source_begun.unacknowledged_count)
    coming = source_begun.copies(_overlapping_subjects(source, change)) if _same_earlier(source, change) else NOTHING
    reported = (change.live.state.get("sources") or ()) if change.live else ()
    lag = sum(report.get("lag", 0) for report in reported if origin_of(report) == origin_of(source))
    is_whole = not any(start in earlier for earlier in _same_earlier(source, change) for start in STARTS)
    least, most = max(0, coming.least - lag) if is_whole else 0, max(coming.most, source_begun.held_messages)
    return Amount(least, most, about=coming.most if least < coming.most < most else None)


def _is_another(source: Source, before: Mapping[object, Source], view: View) -> bool:
    """It did not exist before, and has no start."""
    return source_identity(source, view.target.version) not in before and not any(start in source for start in STARTS)


def _copied_again_finding(code: str, index: int, source: Source, stored: Amount | None, goes_on: int | None) -> Finding:
    """`goes_on`: the message after which the server continues with the same source."""
    name = source["name"]
    many = "every message" if stored is None else amount(stored, "message")
    treats = f"with another filter or other transforms the server treats it as a new source of {name} and starts again"
    if goes_on is not None:
        treats = f"the server continues after message {goes_on}, the last one acknowledged"
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"sources[{index}].name",
        to=name,
        quantities={} if stored is None else {"messages": stored},
        message=f"{treats}: it copies {many} of {name} once more",
        fix=(
            "give it opt_start_seq or opt_start_time"
            if goes_on is None
            else "wait until publishers pause, and plan again"
        )
        + f", or consent here: {consent_to(code, name)}",
    )


def _by_identity(sources: Sequence[Source] | None, view: View) -> dict[object, Source]:
    return {source_identity(source, view.target.version): source for source in sources or ()}


def _may_have_copied_same(source: Source, other: Source) -> bool:
    """Both may have copied the same messages."""
    return origin_of(source) == origin_of(other) and any_collide(taken_subjects(source), taken_subjects(other))


def left_behind_rule(family: str, own: OwnName = as_named) -> Rule:
    """The 305 of a family. `own` gives the kind's name of its stream."""

    def judge(change: Change, view: View) -> Found:
        """A source is removed before everything is copied, or is added and leaves messages out.

        The stream never gets the rest of a removed source. A server does not count exactly how much that is, and nothing of it
        while the link to another account or domain is down. The rest stays with the origin, as long as the origin keeps it.

        A source that is added with a start time before the newest message of this stream starts no earlier than that message. So
        does any source that is added to a stream which no longer stores its first messages, unless it starts at a sequence. The
        server does not copy what came between.

        From 2.14 on, the only source from a work queue or an interest stream continues where it is, whatever else of it changes. What
        another filter matches before that is not copied.

        If that is a work queue with a consumer that takes some of the same messages, the server refuses its own consumer the new filter
        (10100), and from then on copies nothing through this source.

        Before 2.15 a source that is added again continues after the last message that the stream copied through it, although its
        origin was deleted and recreated since and counts from 1 again. It skips what the new origin stores up to there. If the
        stream has stored many other messages since, the plan cannot tell how much that is, and says so.

        Instead: remove a source when `nats stream info` shows no lag; let a new one start at a sequence, `opt_start_seq`.
        """
        if not change.touches("sources"):
            return []
        return [
            *_lagging_source_findings(change, own(change.address.name), view),
            *_early_start_findings(change, view),
            *_skipped_beginning_findings(change, view),
            *_new_origin_findings(change, view),
            *_refused_filters(f"{family}305", change, view),
            *_recreated_origin_findings(f"{family}305", change, view),
        ]

    return rule(f"{family}305", "source-left-behind", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)(
        judge
    )


def _still_to_come(reported: Source, view: View) -> Amount | None:
    """A server's lag leaves out what is on its way or did not fit; at most, everything that the origin holds is left.
    None: the origin lies elsewhere."""
    origin = view.snapshot.streams.get(reported["name"]) if "external" not in reported else None
    return Amount(reported["lag"], max(reported["lag"], origin["state"].get("messages", 0))) if origin else None


def _early_start_findings(change: Change, view: View) -> Iterator[Finding]:
    """Sources that are added to a stream with messages, and that shall start before the newest of them."""
    newest, before = state_of(change).get("last_ts"), _by_identity(change.was("sources"), view)
    from_here = {new_source.path: new_source for new_source in new_sources(change, view)}
    for index, source in enumerate(change.becomes("sources") or ()):
        path, start = f"sources[{index}]", source.get("opt_start_time")
        new_source = from_here.get(path)
        if (
            not start
            or not newest
            or moment(start) >= moment(newest)
            or source_identity(source, view.target.version) in before
        ):
            continue
        passed = new_source.passed_messages if new_source else None
        if (new_source and not (passed and passed.most)) or not (new_source or state_of(change).get("messages")):
            continue
        many = amount(passed, "message") if passed else "messages"
        dates = f"the newest message of this stream {'is' if state_of(change).get('messages') else 'was'} from {newest}"
        first = new_source.since if new_source else None
        yield Finding(
            outcome=Outcome.WARNS,
            path=f"{path}.opt_start_time",
            quantities={"left_out": passed} if passed else {},
            affects=_affected_readers(source, change, view) if new_source else (),
            message=f"{dates}, and servers start a new source no earlier: {many} that "
            f"{source['name']} stored between {start} and then {verb(passed.most if passed else 2, 'are')} not copied",
            fix=f"write opt_start_seq{f': {first}' if first else ''} instead",
        )


def _skipped_beginning_findings(change: Change, view: View) -> Iterator[Finding]:
    """Sources that are added to a stream without its first messages: what their origins store from before is never
    copied."""
    for source in new_sources(change, view):
        if source.refused_by:
            continue
        if (lost := source.left_out).most and source.continues_after is not None:
            yield Finding(
                outcome=Outcome.WARNS,
                path=f"{source.path}.name",
                quantities={"left_out": lost},
                affects=_affected_readers(source.source, change, view),
                message=f"the server continues with this source after message {source.continues_after} of {source.origin}, "
                f"whatever it says now: {amount(lost, 'message')} that {source.origin} stores before {verb(lost.most, 'are')} not copied",
                fix="to copy them, remove the source and apply, then add it again: that also copies once more what is stored here",
            )
        elif lost.most:
            has_earlier = bool(_same_earlier(source.source, change))
            yield Finding(
                outcome=Outcome.WARNS,
                path=f"{source.path}.name",
                quantities={"left_out": lost},
                affects=_affected_readers(source.source, change, view),
                message=f"this stream no longer stores its first messages, so servers start a new source no earlier than its "
                f"newest one ({source.start.at}): {amount(lost, 'message')} that {source.origin} stores {verb(lost.most, 'are')} not copied"
                + (", unless the earlier source has copied them" if has_earlier else ""),
                fix="write opt_start_seq: 1, which copies all of them"
                + (", and those that the earlier source has copied once more" if has_earlier else ""),
            )


def _new_origin_findings(change: Change, view: View) -> Iterator[Finding]:
    """Sources whose origins the same plan creates, so that publishers may be faster than the server."""
    for source in sources_of_new_streams(change, view):
        if source.earliest_time and not any(start in source.source for start in STARTS):
            yield Finding(
                outcome=Outcome.WARNS,
                path=f"{source.path}.name",
                affects=_affected_readers(source.source, change, view),
                message="this stream no longer stores its first messages, so servers start a new source no earlier than its newest one: "
                f"what {source.origin} stores before the source begins is not copied",
                fix="write opt_start_seq: 1, which copies all of it",
            )


def _refused_filters(code: str, change: Change, view: View) -> Iterator[Finding]:
    """Sources from a work queue that get a filter which the server does not let its own consumer take."""
    for source in new_sources(change, view):
        if names := source.refused_by:
            take = f"{few(names)} {'takes' if len(names) == 1 else 'take'}"
            yield Finding(
                outcome=Outcome.NEEDS_CONSENT,
                path=f"{source.path}.name",
                to=source.origin,
                affects=_affected_readers(source.source, change, view),
                message=f"the server feeds this source through a consumer of its own, and {take} some of the same messages of "
                f"work queue {source.origin}: it refuses the new filter there (10100), and copies nothing more of {source.origin}",
                fix="remove the source and apply, then add it again with the new filter: that also copies what the queue still stores; "
                f"or consent here: {consent_to(code, source.origin)}",
            )


def _recreated_origin_findings(code: str, change: Change, view: View) -> Iterator[Finding]:
    """Sources that are added again, and whose origin has begun to count again since, or does so in the same plan. They skip
    less if the server begins to copy while the new one is shorter."""
    for source in (*new_sources(change, view), *sources_of_new_streams(change, view)):
        if (reached := source.last_copy) is None:
            continue
        consent = f"consent here: {consent_to(code, source.origin)}"
        is_certain = bool(reached.at) or (source.is_on_record and not source.continues_numbering)
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT if is_certain else Outcome.WARNS,
            path=f"{source.path}.name",
            to=source.origin if is_certain else None,
            quantities={"left_out": Amount(0, source.skipped_future_messages + source.origin_state.get("messages", 0))}
            if reached.is_known
            else {},
            affects=_affected_readers(source.source, change, view),
            message=_skipping_text(source, reached),
            fix=f"{_continued_numbers_text(source, reached, view)}{f', or {consent}' if is_certain else ', if it did'}",
        )


def _continued_numbers_text(source: NewSource, reached: LastCopy, view: View) -> str:
    """How the new origin continues the numbers of the old one."""
    origin_change = view.change_of_stream(source.origin)
    may_say_so = origin_change is None or origin_change.address.kind == "stream"
    first = str(reached.at + 1) if reached.is_known else "NUMBER"
    above = (
        ""
        if reached.is_known
        else f"{'' if may_say_so else ', with a number'} above the last message that this stream copied (the header "
        "Nats-Stream-Source of its newest copy names it)"
    )
    if not may_say_so:
        return f"{purge_advice(source.origin, first)}{above}"
    begin = f"first_seq: {first}" if reached.is_known else "a first_seq"
    return f"let {source.origin} be created with {begin}{above}"


def _skipping_text(source: NewSource, reached: LastCopy) -> str:
    """What the source skips of the new stream."""
    continues = "the server continues with this source after"
    if not reached.at:
        return (
            f"if this stream copied from an earlier {source.origin}, {continues} the last message that it copied and skips as many "
            "messages of the new one; its newest messages do not tell whether it did"
        )
    last = f"message {reached.at}, the last one that this stream copied from an earlier {source.origin}"
    if not reached.is_known:
        last = f"the last message that this stream copied from an earlier {source.origin}, {reached.at} or a later one"
        return f"{continues} {last}: up to as many messages of the new one are not copied"
    skipped = source.skipped_future_messages
    next_text = f"what the new one stores and up to its next {some(skipped, 'message')} are not copied"
    first_text = f"up to the first {some(skipped, 'message')} of the new one {verb(skipped, 'are')} not copied"
    return f"{continues} {last}: {next_text if source.origin_state.get('messages') else first_text}"


def _affected_readers(source: Source, change: Change, view: View) -> list[Address]:
    """What consumes or copies what the source brings. Where the stream or its kind gives copies other subjects: all that
    does."""
    if change.address.kind != "stream" or change.becomes("subject_transform") or change.was("subject_transform"):
        return dependants.everybody(stream_of(change), view)
    return dependants.readers_of(given_subjects(source), stream_of(change), view)


def _lagging_source_findings(change: Change, stream: str, view: View) -> Iterator[Finding]:
    info = view.snapshot.streams.get(stream, {})
    staying = [origin_of(source) for source in change.becomes("sources") or ()]
    for reported in info.get("sources") or ():
        if origin_of(reported) in staying:
            continue
        left, fix = None, f"remove it when `nats stream info {stream}` shows no lag"
        if reported.get("lag"):
            left = _still_to_come(reported, view)
            number = amount(left, "message") if left else f"at least {some(reported['lag'], 'message')}"
            behind = f"{stream} is {number} behind"
        elif "external" in reported and not hears_origin(reported):
            behind = f"{stream} hears nothing from it, so how far it is behind is not known"
            fix = f"remove it when `nats stream info {stream}` shows that it was seen lately, and no lag"
        else:
            continue
        yield Finding(
            outcome=Outcome.WARNS,
            path="sources",
            quantities={"left": left} if left else {},
            affects=_affected_readers(reported, change, view),
            message=f"source {origin_label(reported)} is removed while {behind}: {stream} never gets the rest",
            fix=fix,
        )
