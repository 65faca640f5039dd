"""Why a transform is refused: as real servers answer, or stricter on purpose."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import strategies as st

from reconciler.kinds.subjects.transforms import (
    DestinationFunction,
    partition_call,
    problem,
    published_as,
    worst_problem,
)
from reconciler.model.wire.version import Version
from tests.primitives.compare import BATCH, PAIRS
from tests.primitives.echo import Body, Server
from tests.support.accounts import Account
from tests.support.drawing import batches, drawn
from tests.support.versions import on_every_version

V2_12 = Version(2, 12)
STORED = {"storage": "memory"}
"""A busy disk is no answer about transforms."""

names = st.sampled_from(
    [
        "partition",
        "Partition",
        "wildcard",
        "split",
        "SplitFromLeft",
        "sliceFromRight",
        "left",
        "Right",
        "random",
        "PARTITION",
        "nope",
    ]
)
arguments = st.lists(
    st.sampled_from(["1", "2", " 2", "3", "0", "-1", "x", "", "4294967296"]), min_size=1, max_size=3
).map(",".join)
functions = st.builds("{{{{{}({})}}}}".format, names, arguments)
tokens = st.one_of(
    functions,
    st.sampled_from(["a", "*", ">", "$1", "$2", "$x", "p-{{partition(3,1)}}", "", "b c", "{{x}}", "{{ wildcard(1) }}"]),
)
destinations = st.lists(tokens, min_size=1, max_size=3).map(".".join)
sources = st.sampled_from(["a", "a.*", "a.*.*", "a.*.>", ">", "", "a..b", "a.>.b", "*a.b"])


@on_every_version
def test_a_transform_is_refused_exactly_when_the_server_refuses_it(account: Account) -> None:
    wrong = []
    with Server(account) as server:

        def judge(pairs: list[tuple[str, str]], bodies: Mapping[str, Body], *, republishing: bool) -> None:
            replies = server.create_streams(bodies)
            server.delete_streams(name for name, reply in zip(bodies, replies, strict=True) if reply.config)
            for (src, dest), reply in zip(pairs, replies, strict=True):
                found = worst_problem(src, dest, server.version, republishing=republishing)
                if bool(found and found.refused) != (reply.config is None) and "cycle" not in reply.words:
                    wrong.append((src, dest, found, reply.words))

        for batch in batches(drawn(lambda _: st.tuples(sources, destinations), PAIRS), BATCH):
            bodies = {f"T{i}": {**STORED, "subject_transform": {"src": s, "dest": d}} for i, (s, d) in enumerate(batch)}
            judge(batch, bodies, republishing=False)
            bodies = {f"R{i}": {**STORED, "republish": {"src": s, "dest": d}} for i, (s, d) in enumerate(batch)}
            judge(batch, bodies, republishing=True)
    assert sorted(wrong, key=str)[:10] == []


@pytest.mark.parametrize("dest", ["{{partition(0,1)}}", "{{partition(4,0)}}", "{{wildcard(0)}}", "{{partition(-1,1)}}"])
def test_what_would_end_a_server_or_mean_nothing_is_refused(dest: str) -> None:
    assert problem("a.*", dest, V2_12) is not None


def test_the_reason_names_the_function_and_what_is_there() -> None:
    assert problem("a.*", "{{partition(4,2)}}.a", V2_12) == "`{{partition(4,2)}}` names wildcard 2, and `a.*` has 1"


def test_the_partition_function_at_the_start_is_found_whatever_its_spelling() -> None:
    assert partition_call("{{ Partition( 4 ,1, 2 ) }}.a.>") == DestinationFunction("partition", ("4", "1", "2"))


def test_a_function_inside_a_longer_token_is_plain_text() -> None:
    assert partition_call("p-{{partition(3,1)}}.a") is None


@pytest.mark.parametrize(
    ("src", "dest", "stored", "published"),
    [
        ("a.*.*", "z.{{wildcard(2)}}.k.$1", "z.x.>", "a.*.x"),
        ("a.*.*", "z.{{wildcard(2)}}.k.$1", "z.x.k.y", "a.y.x"),
        ("a.*.*", "z.{{wildcard(2)}}.k.$1", ">", "a.*.*"),
        ("a.*", "z.{{wildcard(1)}}", "a.x", None),
        ("a.>", "z.>", "z.b.*", "a.b.*"),
        ("a.>", "z.>", ">", "a.>"),
        ("a.*.>", "z.{{wildcard(1)}}.>", "z.*.x", "a.*.x"),
        ("", "z.>", "z.b", "b"),
        ("a.*", "{{partition(3,1)}}.a.{{wildcard(1)}}", "0.a.x", "a.x"),
        ("a.*", "{{partition(3,1)}}", "0", "a.*"),
    ],
)
def test_what_is_stored_under_a_subject_was_published_under(
    src: str, dest: str, stored: str, published: str | None
) -> None:
    assert published_as(stored, {"src": src, "dest": dest}) == published
