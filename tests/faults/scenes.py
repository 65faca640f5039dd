"""What is applied while something goes wrong: small topologies with a step of every type between them, and one with all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Sections = Mapping[str, Any]
ALLOWED = (
    "CO106",
    "CO121",
    "XX311",
    "EG101",
    "ST206",
    "ST301",
    "ST310",
    "CO310",
    "EG310",
)
"""Consents given on the command line; those that nothing asks for say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Before and after, who publishes meanwhile, and what must be delivered by what is declared then."""

    name: str
    before: Sections
    wanted: Sections
    subjects: tuple[str, ...] = ()
    """Published to all the time."""
    readers: tuple[tuple[str, str], ...] = ()
    """(stream, consumer) that between them get every message; an empty name: a consumer made for looking."""
    worked_on: tuple[tuple[str, str], ...] = ()
    """Consumers that have got six messages before, and acknowledged three of those out of order."""
    members: tuple[tuple[str, str, str], ...] = ()
    """(stream, group, name): clients that are at work all the time, on what the record of their group gives them."""
    edited: tuple[str, ...] = ()
    """What somebody else edits: a stream, a consumer on one, or the record of a group (stream, group, "record")."""
    since: str = "2.11"
    clustered: bool = False
    """It needs several servers."""

    @property
    def is_first(self) -> bool:
        """Nothing was ever applied in this account."""
        return not self.before.get("streams")

    @property
    def has_groups(self) -> bool:
        return any("groups" in stream for stream in self.wanted["streams"].values())


def consumer(**more: Any) -> dict[str, Any]:
    return {"ack_policy": "explicit", "ack_wait": "3s", **more}


def kept(retention: str, subject: str, max_waiting: int, name: str = "c") -> dict[str, Any]:
    return {"subjects": [subject], "retention": retention, "consumers": {name: consumer(max_waiting=max_waiting)}}


BY_FIRST = [{"filter": "*.*", "partitioning_wildcards": [1]}]


def group(partitions: int, *members: str, filters: list[dict[str, Any]] = BY_FIRST) -> dict[str, Any]:
    return {"type": "elastic", "max_members": partitions, "partitioning_filters": filters, "members": [*members]}


def by_key(subject: str) -> list[dict[str, Any]]:
    return [{"filter": f"{subject}.*", "partitioning_wildcards": [1]}]


def replaced(retention: str) -> Scene:
    """A consumer that no update can change, on a stream kept in this way."""
    stream = retention[0].upper()
    subject = f"{retention[0]}.*"
    return Scene(
        name=f"replaced on {retention}",
        before={"streams": {stream: kept(retention, subject, 512)}},
        wanted={"streams": {stream: kept(retention, subject, 64)}},
        subjects=(f"{retention[0]}.x",), readers=((stream, "c"),), worked_on=((stream, "c"),),
        edited=(stream, "c"),
    )  # fmt: skip


RENAMING = (("A", "interest", "a.*"), ("Z", "workqueue", "z.*"))
"""Streams whose only consumer gets another name."""

RECREATED = Scene(
    name="group made anew",
    before={"streams": {"E": {"subjects": ["e.*"], "groups": {"g": group(4, "a", "b")}}}},
    wanted={"streams": {"E": {"subjects": ["e.*"], "groups": {"g": group(6, "a", "b")}}}},
    subjects=("e.k1", "e.k2"), readers=(("E-g", ""),), edited=("E", "g", "record"),
)  # fmt: skip

SWAPPED = Scene(
    name="subjects swapped",
    before={"streams": {name: {"subjects": [f"{name.lower()}.*"], "consumers": {"c": consumer()}} for name in "XY"}},
    wanted={"streams": {name: {"subjects": [f"{other}.*"], "consumers": {"c": consumer()}} for name, other in ("Xy", "Yx")}},
    subjects=("x.1", "y.1"), readers=(("X", "c"), ("Y", "c")), edited=("X",),
)  # fmt: skip

MEMBERS = Scene(
    name="membership",
    before={"streams": {"M": {"subjects": ["m.*"], "groups": {"g": group(4, "a", "b")}}}},
    wanted={"streams": {"M": {"subjects": ["m.*"], "groups": {"g": group(4, "a", "b", "c")}}}},
    subjects=("m.k1",), readers=(("M-g", ""),), edited=("M", "g", "record"),
)  # fmt: skip

AT_WORK = Scene(
    name="membership of members at work",
    before={"streams": {"G": {"subjects": ["g.*"], "groups": {"g": group(4, "a", "b", filters=by_key("g"))}}}},
    wanted={"streams": {"G": {"subjects": ["g.*"], "groups": {"g": group(4, "a", "b", "c", filters=by_key("g"))}}}},
    subjects=("g.k1", "g.k2", "g.k3", "g.k4"), members=tuple(("G", "g", name) for name in "abc"),
    edited=("G", "g", "record"),
)  # fmt: skip

MOVED_ON = Scene(
    name="group of members at work made anew",
    before={"streams": {"H": {"subjects": ["h.*"], "groups": {"g": group(4, "a", "b", filters=by_key("h"))}}}},
    wanted={"streams": {"H": {"subjects": ["h.*"], "groups": {"g": group(6, "a", "b", filters=by_key("h"))}}}},
    subjects=("h.k1", "h.k2", "h.k3"), members=(("H", "g", "a"), ("H", "g", "b")), edited=("H", "g", "record"),
)  # fmt: skip

RENAMED = Scene(
    name="renamed",
    before={"streams": {stream: kept(retention, subject, 64, "old") for stream, retention, subject in RENAMING}},
    wanted={
        "streams": {stream: kept(retention, subject, 64) for stream, retention, subject in RENAMING},
        "moved": [
            {"from": f"consumer/{stream}/old", "to": f"consumer/{stream}/c", "reason": "named after what it does"}
            for stream, _, _ in RENAMING
        ],
    },
    subjects=("a.x", "z.x"), readers=(("A", "c"), ("Z", "c")), worked_on=(("A", "old"), ("Z", "old")),
    edited=("A", "old"),
)  # fmt: skip

REMOVED = Scene(
    name="removal",
    before={
        "streams": {
            "OLD": {"subjects": ["old.*"], "consumers": {"c": consumer()}},
            "KEEP": {"subjects": ["keep.*"], "consumers": {"c": consumer(), "gone": consumer()},
                     "groups": {"g": group(4, "a", "b")}},
        }
    },
    wanted={
        "streams": {"KEEP": {"subjects": ["keep.*"], "consumers": {"c": consumer()}}},
        "removed": [
            {"address": address, "reason": "done with it"}
            for address in ("stream/OLD", "consumer/OLD/c", "consumer/KEEP/gone", "elastic_group/KEEP/g")
        ],
    },
    subjects=("keep.x",), readers=(("KEEP", "c"),), members=(("KEEP", "g", "a"), ("KEEP", "g", "b")), edited=("OLD",),
)  # fmt: skip

MADE = Scene(
    name="made and updated",
    before={"streams": {"U": {"subjects": ["u.*"], "consumers": {"c": consumer()}}}},
    wanted={
        "streams": {
            "U": {"subjects": ["u.*"], "max_age": "7d", "consumers": {"c": consumer(max_deliver=7)}},
            "N": {"subjects": ["n.*"], "consumers": {"c": consumer(pause_until="2100-01-01T00:00:00Z")}},
        },
        "kv_buckets": {"B": {"history": 3}},
    },
    subjects=("u.x",), readers=(("U", "c"),), edited=("U",),
)  # fmt: skip

FIRST = Scene(
    name="first of all", before={},
    wanted={"streams": {"F": {"subjects": ["f.*"], "consumers": {"c": consumer()}}}}, edited=("F",),
)  # fmt: skip

PROMOTED = Scene(
    name="mirror promoted",
    before={"streams": {"P": {"subjects": ["p.*"]}, "Q": {"mirror": {"name": "P"}, "consumers": {"c": consumer()}}}},
    wanted={"streams": {name: {"subjects": [f"{name.lower()}.*"], "consumers": {"c": consumer()}} for name in "PQ"}},
    subjects=("p.x",), readers=(("P", "c"),), edited=("Q",), since="2.12",
)  # fmt: skip


def policies(policy: str, one: str, two: str) -> dict[str, Any]:
    """A consumer with a policy, a work queue that two share, and a static group named like the policy."""
    prioritised = consumer(priority_policy=policy, priority_groups=["g"])
    return {
        "J": {"subjects": ["j.*"], "retention": "interest",
              "consumers": {"first": prioritised, "c": consumer(filter_subject="j.x")}},
        "V": {"subjects": ["v.*"], "retention": "workqueue",
              "consumers": {"one": consumer(filter_subject=one), "two": consumer(filter_subject=two)}},
        "T": {"subjects": ["t.*"], "groups": {policy: {"type": "static", "max_members": 4, "members": ["a"]}}},
    }  # fmt: skip


SWITCHED = Scene(
    name="policy switched, filters exchanged, static group for another",
    before={"streams": policies("pinned_client", "v.1", "v.2")},
    wanted={
        "streams": policies("overflow", "v.2", "v.1"),
        "removed": [{"address": "static_group/T/pinned_client", "reason": "another takes its place"}],
    },
    subjects=("j.x", "v.1", "v.2"), readers=(("J", "c"), ("V", "one"), ("V", "two")), worked_on=(("V", "one"),),
    edited=("V", "two"),
)  # fmt: skip


def shared(**filters: str) -> dict[str, Any]:
    """Consumers of an interest stream, each with the subjects it takes; what is published meanwhile is consented to."""
    consumers = {}
    for name, subjects in filters.items():
        allow = {"code": "CO301", "to": subjects.split(), "upto": {"messages": 10_000}, "reason": "others take them"}
        consumers[name] = consumer(filter_subjects=subjects.split(), allow=[allow])
    return {"K": {"subjects": ["k.*"], "retention": "interest", "consumers": consumers}}


HANDED_OVER = Scene(
    name="subjects handed over on interest",
    # To new ones only: one that takes by an update goes on from where it is, and a server that comes back in the middle may
    # drop what lies before the first message that it wanted until then.
    before={"streams": shared(one="k.1 k.2 k.3")},
    wanted={"streams": shared(one="k.2", two="k.1", three="k.3")},
    subjects=("k.1", "k.2", "k.3"), readers=(("K", "one"), ("K", "two"), ("K", "three")), edited=("K", "one"),
)  # fmt: skip

GROWN = Scene(
    name="R1 to R3",
    before={"streams": {"R": {"subjects": ["r.*"], "num_replicas": 1, "placement": {"tags": ["node:1"]},
                              "consumers": {"c": consumer()}}}},
    wanted={"streams": {"R": {"subjects": ["r.*"], "num_replicas": 3, "placement": {"tags": ["all"]},
                              "consumers": {"c": consumer()}}}},
    subjects=("r.x",), readers=(("R", "c"),), edited=("R",), clustered=True,
)  # fmt: skip

PARTS = (
    replaced("limits"), replaced("interest"), replaced("workqueue"), RECREATED, SWAPPED, MEMBERS, AT_WORK,
    MOVED_ON, RENAMED, REMOVED, MADE, PROMOTED, SWITCHED, GROWN,
)  # fmt: skip
ALONE = (FIRST, HANDED_OVER)
"""Not together with the others: what needs an empty account, and what adds no type of step to theirs."""


def together(parts: Iterable[Scene]) -> Scene:
    """One topology with all of it: branches run beside each other."""
    every = tuple(parts)
    return Scene(
        name="everything",
        before=_merged([one.before for one in every]),
        wanted=_merged([one.wanted for one in every]),
        subjects=tuple(subject for one in every for subject in one.subjects),
        readers=tuple(reader for one in every for reader in one.readers),
        worked_on=tuple(consumer for one in every for consumer in one.worked_on),
        members=tuple(member for one in every for member in one.members),
        edited=every[0].edited,
    )


def replicated(scene: Scene) -> Scene:
    """Every stream on three servers, so that what one of them has not yet written down is not lost when it is killed."""
    return replace(scene, before=_on_three(scene.before), wanted=_on_three(scene.wanted))


def _on_three(sections: Sections) -> Sections:
    streams = {name: {"num_replicas": 3, **body} for name, body in sections.get("streams", {}).items()}
    buckets = {name: {"num_replicas": 3, **body} for name, body in sections.get("kv_buckets", {}).items()}
    return {**sections, "streams": streams, **({"kv_buckets": buckets} if buckets else {})}


def _merged(sections: Iterable[Sections]) -> Sections:
    found: dict[str, Any] = {}
    for one in sections:
        for name, content in one.items():
            if isinstance(content, list):
                found[name] = [*found.get(name, []), *content]
            else:
                assert not found.get(name, {}).keys() & content.keys(), "two scenes mean one stream"
                found[name] = {**found.get(name, {}), **content}
    return found


def scenes(minor: str, *, clustered: bool) -> list[Scene]:
    """Those this version can play, alone and together."""
    able = [one for one in PARTS if _number(one.since) <= _number(minor) and (clustered or not one.clustered)]
    return [*able, *ALONE, together(able)]


def _number(minor: str) -> int:
    return int(minor.partition(".")[2])
