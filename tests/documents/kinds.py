"""A small registry with the shapes of real kinds: nested sections, a shared section with tags, every type of field."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, NoReturn

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from reconciler.changes.kind import FilePlace, Kind, Registry
from reconciler.model.resource import Json, Spec, Terms
from reconciler.model.units import Bytes, Count, Duration


class Placement(Spec):
    cluster: str | None = None
    """Name of the cluster."""
    tags: tuple[str, ...] | None = None


class Source(Spec):
    name: str
    """The origin's name."""
    filter_subject: str | None = None
    start: Count | None = None


class FakeStream(Terms):
    subjects: tuple[str, ...] | None = None
    """Subjects stored here."""
    storage: Literal["file", "memory"] | None = None
    max_age: Duration | None = None
    max_bytes: Bytes | None = None
    num_replicas: Annotated[Count, Field(ge=1, le=5)] | None = None
    ratio: float | None = None
    sequence: int | None = None
    no_ack: bool | None = None
    since: date | None = None
    placement: Placement | None = None
    mirror: Source | None = None
    sources: tuple[Source, ...] | None = None
    metadata: dict[str, str] | None = None
    backup: Source | Placement | None = None
    external: bool = False

    @model_validator(mode="after")
    def _one_origin(self) -> FakeStream:
        if self.mirror and self.sources:
            raise ValueError("Mirror and sources exclude each other")
        if self.placement and self.placement.cluster == "nowhere":
            context = {"at": "placement.cluster"}
            raise PydanticCustomError("wrong_value", "`nowhere` cannot hold a stream", context)
        return self


class FakeConsumer(Terms):
    filter_subject: str | None = None
    ack_wait: Duration | None = None
    backoff: tuple[Duration, ...] | None = None
    priority_groups: tuple[str, ...] | None = None


class FakeStatic(Terms):
    max_members: Count
    members: tuple[str, ...] | None = None


class Filter(Spec):
    filter: str
    partitioning_wildcards: tuple[Count, ...] = ()


class FakeElastic(FakeStatic):
    partitioning_filters: tuple[Filter, ...] | None = None


class FakeBucket(Terms):
    history: Count | None = None
    ttl: Duration | None = None
    anything: Json = None


def kind(name: str, family: str, place: FilePlace, spec: type[Terms]) -> Kind:
    """A kind that only has a place and a spec."""

    def unasked(*_: object) -> NoReturn:
        raise AssertionError("documents ask a kind for its place and its spec, nothing else")

    return Kind(
        name=name, family=family, title=name, place=place, spec=spec, fields={}, recognise=unasked, claims=unasked,
        settle=unasked, steps=unasked, render=unasked, primary=unasked,
    )  # fmt: skip


REGISTRY = Registry((
    kind("stream", "ST", FilePlace("streams"), FakeStream),
    kind("consumer", "CO", FilePlace("consumers", "stream"), FakeConsumer),
    kind("kv_bucket", "KV", FilePlace("kv_buckets"), FakeBucket),
    kind("static_group", "SG", FilePlace("groups", "stream", ("type", "static")), FakeStatic),
    kind("elastic_group", "EG", FilePlace("groups", "stream", ("type", "elastic")), FakeElastic),
))  # fmt: skip
