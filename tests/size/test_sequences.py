"""Streams that begin at a thousand million, and beside the largest numbers that a server counts to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.e2e.someone import Someone, login
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import MINORS, OLDEST
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running

FAR = {"NEAR": 10**9, "FLOATS": 2**53 + 1, "LAST": 2**62 - 3}
"""Where streams begin that hold three messages, and lose none at a restart."""
BEYOND = {"TOMB": 2**62, "SIGNED": 2**63, "END": 2**64 - 2}


@pytest.fixture
def someone(tmp_path: Path, account: Account) -> Someone:
    return Someone(Shell(tmp_path), account, login(account))


async def begin(js: JetStream, beginning: dict[str, int]) -> None:
    """Streams of three messages, with a consumer that starts at the second one."""
    for name, first in beginning.items():
        await make_stream(js, name, subjects=[f"{name}.*"], first_seq=first)
        await make_consumer(js, name, "c", deliver_policy="by_start_sequence", opt_start_seq=first + 1)
        for number in range(3):
            await js.pipeline.nc.request(f"{name}.{number}", b"x")


async def states(js: JetStream, names: Any) -> list[tuple[int, int]]:
    found = [done(await js.request(f"STREAM.INFO.{name}"))["state"] for name in names]
    return [(one["messages"], one["first_seq"]) for one in found]


def test_large_sequences_come_through_export_plan_and_drift_to_the_last_digit(someone: Someone) -> None:
    someone.ask(lambda js: begin(js, FAR | BEYOND))
    exported = someone("export")
    file = someone.write(exported.out.replace("topology: exported", "topology: t"))
    for first in (FAR | BEYOND).values():
        assert f"first_seq: {first}\n" in exported.out
    assert someone("apply", file, "--yes").code == 0
    assert someone.has_nothing_to_do(file)
    assert someone("drift", file).code == 0
    someone.write(
        exported.out.replace("topology: exported", "topology: t").replace("first_seq:", "max_msgs: 1\n    first_seq:")
    )
    losing = " ".join(someone("plan", file, "-v").out.split())
    for name in (*FAR, "TOMB", "SIGNED"):
        assert f"stream/{name}: apply deletes the oldest 2 of 3 messages" in losing


def test_a_consumer_far_along_is_made_anew_where_it_stood(someone: Someone) -> None:
    someone.ask(lambda js: begin(js, FAR))
    text = someone("export").out.replace("topology: exported", "topology: t")
    someone.applied(text)
    anew = text.replace("ack_policy: explicit", "ack_policy: all")
    consent = "allow: [{code: CO104, to: all, on: 'consumer/*', reason: test}]\n"
    ran = someone.apply(f"{anew}{consent}")
    assert ran.code == 0, ran

    async def starts(js: JetStream) -> list[int]:
        found = [done(await js.request(f"CONSUMER.INFO.{name}.c"))["config"] for name in FAR]
        return [one["opt_start_seq"] for one in found]

    assert someone.ask(starts) == [first + 1 for first in FAR.values()]


def test_a_number_that_no_server_counts_to_is_refused_with_the_largest_one(someone: Someone) -> None:
    ran = someone.shell("validate", someone.write(f"streams: {{A: {{subjects: [a], first_seq: {2**64}}}}}\n"))
    assert (ran.code, "the largest is 2^64 - 1" in " ".join(ran.out.split())) == (1, True)


@pytest.mark.parametrize("minor", MINORS)
def test_what_is_refused_of_large_sequences_is_gone_after_a_restart(minor: str) -> None:
    far = {"A": 2**62 - 3, "B": 2**62}
    with running(minor, accounts_config(1)) as server:
        account = Account(server=server, user="a0", password="a0")

        async def hang(js: JetStream) -> None:
            await make_stream(js, "C", subjects=["c"])
            await js.pipeline.nc.request("c", b"x")
            for name, start in (("kept", 2**63), ("lost", 2**63 + 5)):
                await make_consumer(js, "C", name, deliver_policy="by_start_sequence", opt_start_seq=start)

        async def names(js: JetStream) -> list[str]:
            return sorted(done(await js.request("CONSUMER.NAMES.C"))["consumers"] or [])

        talk(account, lambda js: begin(js, far))
        talk(account, hang)
        assert talk(account, lambda js: states(js, far)) == [(3, far["A"]), (3, far["B"])]
        server.restart()
        assert talk(account, lambda js: states(js, far)) == [(3, far["A"]), (0, far["B"])]
        if minor != OLDEST:  # where it depends on what of the consumer was written down by then
            assert talk(account, names) == ["kept"]
