"""Draws cases: rows of server-rules, plain and spiced with other fields, and transitions over all fields at random."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from reconciler.model.resource import Address
from reconciler.model.wire.version import Version
from tests.agreement.case import SHARED, Body, Case, Live
from tests.agreement.row import Row
from tests.agreement.rows import ROWS
from tests.convergence.drawing import GROUPS, kv_fields
from tests.convergence.legal import legal_consumer, legal_stream
from tests.primitives.bodies import (
    CONSUMER_GROUPS,
    RECIPES,
    STREAM_GROUPS,
    bodies,
    consumer_fields,
    named,
    stream_fields,
)

SIDES = ("refused", "allowed")

NEIGHBOURS: Mapping[str, Body] = {
    "@PLAIN": {"storage": "memory", "subjects": ["@.plain"]},
    "@DIRECT": {"storage": "memory", "subjects": ["@.direct"], "allow_direct": True},
    "KV_@origin": {"storage": "memory", "subjects": ["$KV.@origin.>"], "max_msgs_per_subject": 1},
}
"""Streams that drawn mirrors and sources name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Bodies over all fields, legal or not, to build cases of."""

    streams: tuple[Body, ...]
    consumers: tuple[Body, ...]
    buckets: tuple[Body, ...]


@cache
def pool(version: Version, size: int) -> Pool:
    """Drawn once per version, always the same."""
    return Pool(
        streams=tuple(_drawn(bodies(stream_fields(version), STREAM_GROUPS, RECIPES["stream"]), size, "@S")),
        consumers=tuple(_drawn(bodies(consumer_fields(version), CONSUMER_GROUPS, RECIPES["consumer"]), size, "@S")),
        buckets=tuple(_drawn(bodies(kv_fields(), GROUPS["kv_bucket"], ({},)), size // 4, "@b")),
    )


PER_SEED = 25
"""Of a longer run, hypothesis makes half by varying what it drew before."""


def _drawn(strategy: st.SearchStrategy[Any], number: int, name: str) -> Iterator[Body]:
    found: list[Body] = []
    for run in range(-(-number // PER_SEED)):

        @seed(run)
        @settings(
            max_examples=PER_SEED,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def draw(body: Body) -> None:
            found.append(body)

        draw()
    for body in found:
        yield named(_with_our_names(dict(body)), name)


def _with_our_names(body: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(body)
    for name in ("PLAIN", "DIRECT", "MISSING", "S1", "S2"):
        text = text.replace(f'"name": "{name}"', f'"name": "@{name}"')
    text = text.replace(
        '"inactive_threshold": 1000000000', '"inactive_threshold": 60000000000'
    )  # a run may take a second
    renamed: dict[str, Any] = json.loads(text.replace("KV_origin", "KV_@origin"))
    return renamed


class Drawing:
    """Cases of one version, always the same ones for a seed."""

    def __init__(self, version: Version, *, size: int = 400, number: int = 0) -> None:
        self.version = version
        self._size = size
        self._random = random.Random(number)

    def of_row(self, row: Row, meant: str, *, spiced: bool) -> Iterator[Case]:
        """The row's cases over and over."""
        cases = row.cases(meant)
        while cases:
            for case in cases:
                yield self._spiced(case) if spiced and self._random.random() < 0.5 else case

    def _spiced(self, case: Case) -> Case:
        """With up to two fields more, in what is live before or in what is new."""
        if case.at.kind not in ("stream", "consumer") or case.room != SHARED:
            return case
        spice = self._some(self._one(self._bodies(case.at.kind)), 2)
        spice = {name: value for name, value in spice.items() if not _about(case, name, value)}
        if not case.edits:
            return replace(case, body={**spice, **case.body})
        live = tuple(replace(o, body={**spice, **o.body}) if o.on == case.at.names else o for o in case.live)
        return replace(case, live=live)

    def _bodies(self, kind: str) -> tuple[Body, ...]:
        drawn = pool(self.version, self._size)
        return drawn.streams if kind == "stream" else drawn.consumers

    def _one(self, things: tuple[Any, ...]) -> Any:
        return self._random.choice(things)

    def _some(self, body: Body, most: int) -> dict[str, Any]:
        names = self._random.sample(sorted(body), min(len(body), self._random.randint(0, most)))
        return {name: body[name] for name in names}

    def _chance(self, of: float) -> bool:
        return self._random.random() < of

    def free(self) -> Case:
        """A transition over any fields."""
        draw: Callable[[], Case] = self._random.choices(
            [self._stream, self._consumer, self._bucket, self._removal], [45, 45, 8, 2]
        )[0]
        return draw()

    def _stream(self) -> Case:
        before = self._stream_body()
        if self._chance(0.4):
            return _complete(
                Case(at=Address.of("stream", "@S"), body=_said({**before, **self._row_edit("stream", 0.3)}))
            )
        edit = {**self._some(self._one(self._bodies("stream")), 4), **self._row_edit("stream", 0.3)}
        if self._chance(0.3) and before:
            edit |= dict.fromkeys(self._random.sample(sorted(before), 1))
        if self._chance(0.5):
            legal = legal_stream(_said({**before, **edit}), self.version)
            edit = {name: legal.get(name) for name in edit}
        live = [Live(on=("@S",), body=before, messages=self._messages(before))]
        live += [self._neighbour(n, before) for n in range(self._random.choice([0, 0, 1, 2]))]
        return _complete(Case(at=Address.of("stream", "@S"), body=edit, live=tuple(live), edits=True))

    def _stream_body(self) -> dict[str, Any]:
        said = {
            name: value
            for name, value in self._one(self._bodies("stream")).items()
            if name != "sealed" or self._chance(0.1)
        }
        if self._chance(0.8):
            said = legal_stream(said, self.version)
        filed = self._chance(0.1) or said.get("persist_mode") == "async"
        return said if filed else {**said, "storage": "memory"}

    def _messages(self, body: Body) -> tuple[str, ...]:
        subjects = [s for s in body.get("subjects") or () if "*" not in s and ">" not in s]
        return tuple(subjects) if self._chance(0.2) else ()

    def _neighbour(self, number: int, stream: Body) -> Live:
        body = legal_consumer(dict(self._one(self._bodies("consumer"))), dict(stream), self.version, number)
        return Live(on=("@S", f"n{number}"), body=body)

    def _consumer(self) -> Case:
        stream = self._plain_stream()
        others = [self._neighbour(n, stream) for n in range(self._random.choice([0, 0, 0, 1, 2]))]
        live = [Live(on=("@S",), body=stream), *others]
        at = Address.of("consumer", "@S", "c")
        before = self._consumer_body(stream)
        if self._chance(0.4):
            return _complete(Case(at=at, body=_said({**before, **self._row_edit("consumer", 0.3)}), live=tuple(live)))
        edit = {**self._some(self._one(self._bodies("consumer")), 3), **self._row_edit("consumer", 0.3)}
        if self._chance(0.3) and before:
            edit |= dict.fromkeys(self._random.sample(sorted(before), 1))
        if self._chance(0.5):
            legal = legal_consumer(_said({**before, **edit}), stream, self.version, 9)
            edit = {name: legal.get(name) for name in edit}
        return _complete(Case(at=at, body=edit, live=(*live, Live(on=("@S", "c"), body=before)), edits=True))

    def _plain_stream(self) -> dict[str, Any]:
        if self._chance(0.2):
            return self._stream_body()
        stream: dict[str, Any] = {
            "storage": "memory",
            "subjects": ["@.>"],
            "retention": self._one(("limits", "limits", "interest", "workqueue")),
        }
        if self._chance(0.2):
            stream["consumer_limits"] = self._one(({"max_ack_pending": 100}, {"inactive_threshold": 60_000_000_000}))
        return stream

    def _consumer_body(self, stream: Body) -> dict[str, Any]:
        said = dict(self._one(self._bodies("consumer")))
        return legal_consumer(said, dict(stream), self.version, 9) if self._chance(0.8) else said

    def _row_edit(self, kind: str, chance: float) -> dict[str, Any]:
        """What some row says, in company it was not made for."""
        if not self._chance(chance):
            return {}
        cases = _stand_alone(kind)
        return {name: value for name, value in self._one(cases).body.items() if name != "storage"}

    def _bucket(self) -> Case:
        drawn = pool(self.version, self._size).buckets
        at, body = Address.of("kv_bucket", "@b"), dict(self._one(drawn))
        if "mirror" in body:
            body = {
                name: value for name, value in body.items() if name not in ("sources", "limit_marker_ttl", "republish")
            }
        if self._chance(0.4):
            return _complete(Case(at=at, body=body))
        raw = {"storage": "memory", "subjects": ["$KV.@b.>"], "max_msgs_per_subject": self._one((1, 5)), "discard": "new",
               "allow_rollup_hdrs": True, "deny_delete": True, "allow_direct": True}  # fmt: skip
        if self._chance(0.5):
            raw |= _as_stream({name: value for name, value in self._one(drawn).items() if name in ALONE})
        live = Live(on=("KV_@b",), body=raw)
        return _complete(Case(at=at, body=self._some(body, 4), live=(live,), edits=True))

    def _removal(self) -> Case:
        stream = self._plain_stream()
        own, consumer = Live(on=("@S",), body=stream), Live(on=("@S", "c"), body=self._consumer_body(stream))
        if self._chance(0.5):
            return _complete(Case(at=Address.of("stream", "@S"), body={}, live=(own,), removes=True))
        return _complete(Case(at=Address.of("consumer", "@S", "c"), body={}, live=(own, consumer), removes=True))


ALONE = frozenset(
    {"history", "ttl", "max_value_size", "limit_marker_ttl", "allow_msg_ttl", "deny_delete", "allow_direct"}
)
"""Fields of a bucket that any other bucket may have beside its own."""

STREAM_NAMES = {
    "history": "max_msgs_per_subject", "ttl": "max_age", "max_value_size": "max_msg_size",
    "limit_marker_ttl": "subject_delete_marker_ttl",
}  # fmt: skip


def _as_stream(bucket: Body) -> dict[str, Any]:
    """A bucket's fields as its stream has them; markers need values with a time to live."""
    implied = {"allow_msg_ttl": True} if "limit_marker_ttl" in bucket else {}
    return {STREAM_NAMES.get(name, name): value for name, value in bucket.items() if value is not None} | implied


def _said(body: Body) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


@cache
def _stand_alone(kind: str) -> tuple[Case, ...]:
    cases = (case for row in ROWS for side in SIDES for case in row.cases(side))
    return tuple(case for case in cases if case.at.kind == kind and case.room == SHARED and case.body)


def _about(case: Case, name: str, value: Any) -> bool:
    """Does the case say this already, or would the field need something of its own to be there?"""
    own = {key for one in case.live if one.on == case.at.names for key in one.body}
    return (
        name in case.body
        or name in own
        or name in ("sealed", "storage", "mirror", "sources", "subjects")
        or value is None
    )


def _complete(case: Case) -> Case:
    """With the streams that are named in it."""
    said = json.dumps([case.body, *(one.body for one in case.live)])
    origins = tuple(Live(on=(name,), body=body) for name, body in NEIGHBOURS.items() if f'"{name}"' in said)
    return replace(case, live=(*origins, *case.live), row="free")


def on_disk(case: Case) -> Case:
    """With every stream in a file, so that a restart keeps it."""

    def filed(body: Body) -> Body:
        text = json.dumps(body).replace('"storage": "memory"', '"storage": "file"')
        written: Body = json.loads(text)
        return written

    return replace(case, body=filed(case.body), live=tuple(replace(one, body=filed(one.body)) for one in case.live))
