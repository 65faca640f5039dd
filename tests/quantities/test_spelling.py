"""A consumer that is only spelled in another way does the same; a server refuses to create it in the old way, and the plan says so."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.verdict import Verdict
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, publish, take
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

SPELLINGS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "into a list": ({"filter_subject": "s.a"}, {"filter_subjects": ["s.a"]}, "Clients get the same messages"),
    "out of a list": ({"filter_subjects": ["s.a"]}, {"filter_subject": "s.a"}, "Clients get the same messages"),
    "a sign more": ({"sample_freq": "100"}, {"sample_freq": "100%"}, "The server samples as many acknowledgements"),
    "a sign less": ({"sample_freq": "100%"}, {"sample_freq": "100"}, "The server samples as many acknowledgements"),
    "zero": ({"sample_freq": "0"}, {}, "The server samples as many acknowledgements"),
}


@on_every_version
@pytest.mark.parametrize("name", SPELLINGS)
def test_another_spelling_of_a_consumer_is_said_to_change_nothing_but_who_may_create_it(
    account: Account, tmp_path: Path, name: str
) -> None:
    before, after, told = SPELLINGS[name]

    def file(fields: dict[str, Any]) -> str:
        consumer = json.dumps({"ack_policy": "explicit", **fields})
        return f"streams: {{S: {{subjects: [s.>], consumers: {{c: {consumer}}}}}}}"

    async def work(js: JetStream) -> tuple[list[str], dict[str, Verdict], list[object], int]:
        await applied(js, tmp_path, file(before))
        await publish(js, "s.a", "s.a", "s.a")
        await take(js, "S", "c", 1)
        found = await plan(read(tmp_path, file(after)), js, RunOptions())
        verdicts = await applied(js, tmp_path, file(after))
        answers = []
        for fields in (before, after):
            config = {"durable_name": "c", "name": "c", "ack_policy": "explicit", "deliver_policy": "all", **fields}
            subject = f"CONSUMER.CREATE.S.c{'.s.a' if 'filter_subject' in fields else ''}"
            answers.append(await js.request(subject, {"stream_name": "S", "config": config, "action": "create"}))
        said = [consequence.message for change in found.plan.changes for consequence in change.consequences]
        return (
            said,
            verdicts,
            [getattr(answer, "err_code", None) for answer in answers],
            len(await take(js, "S", "c", 2)),
        )

    said, verdicts, refused, got = talk(account, work)
    assert [message.startswith(f"{told} as before; an application that creates") for message in said] == [True], said
    assert (verdicts, refused, got) == ({}, [10148, None], 2)


@on_every_version
@pytest.mark.parametrize(("frequency", "samples"), [("100", 3), ("100%", 3), ("0", 0), ("0%", 0)])
def test_a_server_samples_alike_with_and_without_the_sign(
    account: Account, tmp_path: Path, frequency: str, samples: int
) -> None:
    """A second consumer of which every acknowledgement is sampled shows that all samples have come."""
    consumers = json.dumps({
        "c": {"ack_policy": "explicit", "sample_freq": frequency},
        "last": {"ack_policy": "explicit", "sample_freq": "100"},
    })  # fmt: skip

    async def work(js: JetStream) -> int:
        await applied(js, tmp_path, f"streams: {{S: {{subjects: [s.>], consumers: {consumers}}}}}")
        heard = await js.pipeline.nc.subscribe("$JS.EVENT.METRIC.CONSUMER.ACK.S.*")
        await publish(js, "s.a", "s.a", "s.a")
        for name in ("c", "last"):
            await take(js, "S", name, 3)
        counted = Counter[str]()
        while counted["last"] < 3 or counted["c"] < samples:
            counted[(await heard.next_msg(timeout=10)).subject.rpartition(".")[2]] += 1
        return counted["c"]

    assert talk(account, work) == samples
