"""What members of a static group start with, and what is stored for them, is what the plan said of its filters."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.kinds.group_records.member_subjects import durable_subjects
from reconciler.model.resource import Address
from reconciler.server.read import lost_answers
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, planned, publish
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

STREAM = """
streams:
  Z:
    subjects: [z.*.*]
    subject_transform: {{src: z.*.*, dest: "{{{{partition(2,2)}}}}.z.{{{{wildcard(1)}}}}.{{{{wildcard(2)}}}}"}}
    retention: {retention}
    consumers: {{us: {{filter_subject: "*.z.us.*", ack_policy: explicit}}}}
    groups: {{g: {{type: static, max_members: 2, filters: [z.eu.*], {membership}}}}}
"""
PLAIN = "members: [a, b]"
MAPPED = "member_mappings: [{member: a, partitions: [0]}, {member: b, partitions: [1]}]"
MESSAGES = [f"z.{region}.{number}" for region in ("eu", "us", "zz") for number in range(4)]


async def join(js: JetStream, text: str, folder: Path) -> int:
    """Members make their consumers, as those of the reference do; how many messages these have then."""
    group = next(item for item in read(folder, text).resources if item.address == Address.of("static_group", "Z", "g"))
    config = {name: value for name, value in group.spec.model_dump().items() if value}
    if mappings := config.get("member_mappings"):
        config["member_mappings"] = {item["member"]: item["partitions"] for item in mappings}
    for name, subjects in durable_subjects("g", config).items():
        await make_consumer(js, "Z", name, filter_subjects=list(subjects))
    return await waiting(js)


async def waiting(js: JetStream) -> int:
    infos = [done(await js.read(f"CONSUMER.INFO.Z.g-{member}")) for member in ("a", "b")]
    return sum(int(info["num_pending"]) for info in infos)


@on_every_version
@pytest.mark.parametrize(("membership", "number"), [(PLAIN, 4), (MAPPED, 12)], ids=["plain", "mapped"])
def test_a_group_that_comes_back_starts_with_what_its_members_take(
    account: Account, tmp_path: Path, membership: str, number: int
) -> None:
    text = STREAM.format(retention="limits", membership=membership)

    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, text)
        await publish(js, *MESSAGES)
        assert await join(js, text, tmp_path) == number
        await lost_answers.delete(js, "static-consumer-groups", "Z.g", expected_revision=None)
        for member in ("a", "b"):
            done(await js.write(f"CONSUMER.DELETE.Z.g-{member}"))
        assert (await planned(js, tmp_path, text))["SG312"].quantities["redelivered"] == number
        await applied(js, tmp_path, text, "SG312")
        assert await join(js, text, tmp_path) == number

    talk(account, work)


@on_every_version
@pytest.mark.parametrize(("membership", "unwanted"), [(PLAIN, True), (MAPPED, False)], ids=["plain", "mapped"])
def test_what_is_not_stored_for_members_of_a_group_was_said(
    account: Account, tmp_path: Path, membership: str, unwanted: bool
) -> None:
    text = STREAM.format(retention="interest", membership=membership)

    async def work(js: JetStream) -> None:
        said = str((await plan(read(tmp_path, text), js)).plan)
        assert ("will be acknowledged and not stored" in said) == unwanted
        await applied(js, tmp_path, text)
        await join(js, text, tmp_path)
        await publish(js, *MESSAGES)
        stored = int(done(await js.read("STREAM.INFO.Z"))["state"]["messages"])
        assert (stored < len(MESSAGES)) == unwanted

    talk(account, work)
