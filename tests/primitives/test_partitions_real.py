"""Real servers put subjects into the partitions we compute, whatever the filter, its wildcards and the number of partitions."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.kinds.elastic_group.queue_stream import transforms
from reconciler.kinds.subjects.partitions import partition
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.versions import on_every_version

tokens = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=".*>"), min_size=1, max_size=8
)


class Hashed(NamedTuple):
    """A filter with what decides, and subjects it matches."""

    filter: str
    wildcards: list[int]
    partitions: int
    subjects: list[str]


@st.composite
def hashed(draw: st.DrawFn, *, whole_subject: bool) -> Hashed:
    shape = ["h", *draw(st.lists(st.sampled_from(["*", "*", "x"]), min_size=1, max_size=5))]
    stars = shape.count("*")
    numbers = st.lists(st.integers(1, max(stars, 1)), unique=True, min_size=0 if whole_subject else 1)
    wildcards = draw(numbers) if stars else []
    if not stars or draw(st.booleans()):
        shape.append(">")
    subjects = draw(st.lists(filled(shape), min_size=1, max_size=12))
    return Hashed(".".join(shape), wildcards, draw(st.integers(1, 300)), subjects)


def filled(shape: list[str]) -> st.SearchStrategy[str]:
    """A subject that this filter matches."""
    parts = {"*": tokens, ">": st.lists(tokens, min_size=1, max_size=3).map(".".join)}
    return st.tuples(*(parts.get(token, st.just(token)) for token in shape)).map(".".join)


def expected(one: Hashed) -> dict[str, int]:
    at = (partition(subject, one.filter, one.partitions, one.wildcards) for subject in one.subjects)
    return dict(Counter(f"{number}.{subject}" for number, subject in zip(at, one.subjects, strict=True)))


async def observed(js: JetStream, one: Hashed) -> dict[str, int]:
    """The subjects as the server stores them."""
    group = {
        "max_members": one.partitions,
        "partitioning_filters": [{"filter": one.filter, "partitioning_wildcards": one.wildcards}],
    }
    (transform,) = transforms(group)
    await make_stream(js, "S", subjects=[one.filter], storage="memory", subject_transform=transform)
    await asyncio.gather(*(js.pipeline.request(subject, b"", within=20) for subject in one.subjects))
    info = done(await js.read("STREAM.INFO.S", {"subjects_filter": ">"}))
    done(await js.request("STREAM.DELETE.S"))
    found: dict[str, int] = info["state"]["subjects"]
    return found


@on_every_version
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_real_server_divides_as_we_compute(account: Account, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(hashed(whole_subject=account.minor != "2.11"), min_size=10, max_size=20))
    possible = [one for one in drawn if one.wildcards or account.minor != "2.11"]

    async def all_of_them(js: JetStream) -> list[dict[str, int]]:
        return [await observed(js, one) for one in possible]

    assert talk(account, all_of_them) == [expected(one) for one in possible]
