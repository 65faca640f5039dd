"""What a plan foretells, beside what clients experienced: unforetold, or a wolf that was cried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from reconciler.changes.effect import Side
from reconciler.kinds.subjects.subjects import collide
from reconciler.testbed.probes.record import Difference, is_relief, sides
from tests.probes.drawing import LOTS, SHORT, Case, first_wait
from tests.probes.saying import Said
from tests.probes.scenes import HOUR

Excuse = Callable[[Case], bool]


def _becomes(field: str, *values: object) -> Excuse:
    return lambda case: case.becomes(field) in values


def _is_full(field: Callable[[str], object]) -> bool:
    """Does a stream refuse what the battery publishes, since it holds as much as it may?"""
    return field("discard") == "new" and (field("max_msgs") == 10 or bool(field("discard_new_per_subject")))


def _takes_others(case: Case) -> bool:
    """Are the subjects that a consumer takes from then on none of those that it took before?"""
    before, after = (_filters(value) for value in (case.was, case.becomes))
    return not any(collide(one, other) for one in before for other in after)


def _filters(field: Callable[[str], object]) -> list[str]:
    several = field("filter_subjects")
    return [str(one) for one in several] if isinstance(several, list) else [str(field("filter_subject") or ">")]


def _lasts_a_moment(case: Case) -> bool:
    """Is it a push consumer that goes within a second without a client, by its own threshold or one that it inherits?"""
    inherited = [one.get("consumer_limits") or {} for one in case.scene.streams.values()]
    thresholds = [case.was("inactive_threshold"), *(limits.get("inactive_threshold") for limits in inherited)]
    return bool(case.was("deliver_subject")) and any(0 < (one or HOUR) < HOUR for one in thresholds)


def _age_without_markers(case: Case) -> bool:
    fields = {"limit_marker_ttl", "subject_delete_marker_ttl"}
    return not fields.isdisjoint(case.changed) and HOUR in (case.becomes("max_age"), case.becomes("ttl"))


def _nothing_comes(case: Case) -> bool:
    """Is each stream so full that it refuses what the battery publishes? Where clients wait, it holds 30 messages."""
    most = 31 if case.scene.waits else 10
    streams = case.scene.streams.values()
    return all(
        _is_full(one.get) or (one.get("discard") == "new" and 0 < one.get("max_msgs", 0) <= most) for one in streams
    )


FULL_COPY: tuple[Excuse, str] = (
    lambda case: case.was("discard") == "new" and case.was("max_msgs") == 10, "a full copy takes nothing either way",
)  # fmt: skip
ANY: Mapping[str, tuple[Excuse, str]] = {
    "gone": (_lasts_a_moment, "a consumer that lasts for a moment without its client may be gone before anybody subscribes"),
}  # fmt: skip
"""What no battery can show, whichever code warns of it."""
WOLVES: Mapping[str, Mapping[str, tuple[Excuse, str]]] = {
    "ST301": {
        "old age": (lambda case: HOUR in (case.becomes("max_age"), case.becomes("ttl")), "nothing in a battery is an hour old"),
    },
    "ST206": {
        "ttl stays": (lambda case: bool(case.becomes("allow_msg_ttl") or case.becomes("limit_marker_ttl")),
                      "it allows what was refused, and only cannot be taken back"),
        "schedules stay": (_becomes("allow_msg_schedules", True), "it allows what was refused, and only cannot be taken back"),
        "no single delete": (_becomes("deny_delete", True), "where nothing is left to be deleted, the answer is the same"),
    },
    "ST604": {
        "minutes": (_becomes("duplicate_window", HOUR // 30), "no battery repeats an id after minutes"),
        "late look": (_becomes("duplicate_window", SHORT),
                      "a server may look over its ids before it takes the window, and again only when the old one ends"),
    },
    "ST601": {
        "roomy": (_becomes("max_msg_size", LOTS), "the battery publishes nothing so large"),
    },
    "ST603": {
        "unfed": (lambda case: bool(case.was("sources")) and not case.becomes("sources"), "nobody publishes to what only copied"),
    },
    "ST304": {"full": FULL_COPY},
    "ST605": {
        "restarted": (lambda case: case.restarts,
                      "a mirror that has started anew answers for its origin only once it has taken in something more"),
        "partial mirror": (lambda case: any((one.get("mirror") or {}).get("filter_subject") for one in case.scene.streams.values()),
                           "a mirror of a part answers in its place, and may have all that the battery asks for"),
    },
    "ST305": {"full": FULL_COPY},
    "ST610": {
        "at work": (lambda case: not case.restarts, "what is at work copies until the server restarts"),
    },
    "CO601": {
        "full": (_nothing_comes, "where every publish is refused, nothing comes with or without its payload"),
        "one at a time": (lambda case: case.was("max_batch") == 1 and bool(case.scene.waits),
                          "clients that wait ask for two, and get none"),
        "nothing comes": (lambda case: bool(case.becomes("pause_until")) or case.becomes("filter_subject") == "a.>",
                          "where nothing is delivered no payload is missed"),
    },
    "CO301": {
        "paused": (lambda case: bool(case.was("pause_until")) and bool(case.becomes("pause_until")),
                   "what is skipped is missed when the pause ends"),
        "all in flight": (lambda case: case.was("max_ack_pending") == 4,
                          "clients that hold as much as they may get nothing more either way"),
        "full": (_nothing_comes, "where every publish is refused, no subject that is taken from now on brings anything"),
        "caught up": (lambda case: bool(case.scene.waits) and _takes_others(case),
                      "clients that have got everything miss nothing that is stored, and count what comes"),
    },
    "ST607": {
        "old age": (_age_without_markers, "nothing in a battery is an hour old, and a key is written again before it expires"),
        "counters": (_becomes("allow_msg_counter", True),
                     "a battery counts under one subject alone, which need not be the one that was republished"),
        "full": (lambda case: _is_full(case.was) and _is_full(case.becomes),
                 "what a full stream or subject refuses is not published again either"),
    },
    "ST612": {
        "old age": (_age_without_markers, "nothing in a battery is an hour old, and a key is written again before it expires"),
        "full": (lambda case: _is_full(case.was) and _is_full(case.becomes), "what a full stream or subject refuses never expires"),
    },
    "ST609": {
        "gone": (lambda case: SHORT in (case.was("consumer_limits") or {}).values(),
                 "a consumer that lasts for a moment without its client leaves room for another"),
    },
    "ST608": {
        "full": (lambda case: _is_full(case.was) and _is_full(case.becomes),
                 "what a full stream or subject refuses is stored under no other name either"),
        "unwanted": (lambda case: case.was("retention") == "interest" and SHORT in (case.was("consumer_limits") or {}).values(),
                     "where all consumers vanish an interest stream stores nothing, under whatever name"),
    },
    "CO603": {
        "long": (lambda case: case.hurries and first_wait(case.after) >= HOUR,
                 "where messages come again soon the battery refuses none, and it does not wait for an hour"),
    },
    "CO605": {
        "long": (lambda case: first_wait(case.after) >= HOUR,
                 "the battery does not wait for an hour"),
    },
    "CO607": {
        "until a restart": (lambda case: "deliver_group" in case.changed and not case.restarts,
                            "it goes on as before until the server restarts"),
    },
    "CO608": {
        "short pulls": (lambda case: "priority_timeout" in case.changed, "the battery pulls anew for every message, which keeps a pin"),
    },
    "CO602": {
        "large pulls": (lambda case: (case.becomes("max_batch") or 0) > 1000 or (case.becomes("max_bytes") or 0) > LOTS
                        or (case.becomes("max_expires") or 0) > HOUR, "the battery asks for less"),
    },
    "CO604": {
        "in flight": (lambda case: not case.was("deliver_subject") and case.becomes("ack_policy") != "none",
                      "while messages are in flight a pull consumer outlives its threshold by the ack wait"),
        "long": (_becomes("inactive_threshold", HOUR), "the battery does not wait for an hour"),
        "in use": (lambda case: bool(case.scene.waits), "a client waits on it, so that it is not idle"),
    },
}  # fmt: skip
"""What a code warns of and no battery can show, by code and name, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One case, after its clients were asked."""

    case: Case
    felt: tuple[Difference, ...]
    said: Said
    beside: tuple[Difference, ...] | None = None
    """What differs from a twin with the harmless part of the change alone, where that part excuses a side."""

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(self.said.foretold)

    @property
    def is_refused(self) -> bool:
        return self.said.is_refused

    @property
    def excused(self) -> frozenset[Side]:
        """What nothing foretells on these sides is taken for a gain."""
        return frozenset() if self.is_refused else (_taken(self.felt) - self.said.sides) & self.said.gained

    @property
    def needs_another_twin(self) -> bool:
        """Something else changes as well, which may be what shows."""
        return self.beside is None and bool(self.excused) and self.said.gains < self.said.fields

    @property
    def unforetold(self) -> frozenset[Side]:
        if self.is_refused:
            return frozenset()
        certain = _taken(self.felt) - self.said.sides - self.said.gained
        return certain | (self.excused & _taken(self.beside or ()))

    @property
    def wolves(self) -> frozenset[str]:
        if self.is_refused:
            return frozenset()
        shown = sides(self.felt)
        return frozenset(
            code for code in self.said.warned if not self.said.foretold[code] & shown and not excused(self.case, code)
        )


def _taken(found: Iterable[Difference]) -> frozenset[Side]:
    return sides(one for one in found if not one.follows and not is_relief(one))


def excused(case: Case, code: str) -> bool:
    family = "ST" if code[:2] in ("KV", "OB") else code[:2]
    return any(holds(case) for holds, _ in (*ANY.values(), *WOLVES.get(family + code[2:], {}).values()))
