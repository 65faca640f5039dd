"""`adopt`: what is live becomes ours and is not touched; what differs is shown, and nothing is adopted then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.support.accounts import Account
from tests.support.jetstream import make_bucket, make_consumer, make_stream, talk

FILE = "reconciler: 1\ntopology: t\nstreams:\n  A:\n    subjects: [a]\n    consumers: {c: {ack_policy: explicit}}\n"


def target(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


@pytest.fixture
def made(account: Account) -> Account:
    async def make(js: JetStream) -> None:
        await make_stream(js, "A", subjects=["a"])
        await make_consumer(js, "A", "c")

    talk(account, make)
    return account


def objects(account: Account) -> Mapping[str, Any]:
    """Each with its configuration and the moment it was made."""
    snapshot = talk(account, observe)
    infos = [snapshot.streams["A"], *snapshot.consumers["A"].values()]
    return {str(info["created"]): info["config"] for info in infos}


def test_what_is_live_as_declared_is_ours_afterwards_and_untouched(shell: Shell, made: Account) -> None:
    before, file = objects(made), shell.write(FILE)
    ran = shell("adopt", file, "--yes", *target(made))
    assert (ran.code, "Adopted 2 resources; no object was touched." in ran.out) == (0, True), ran
    assert objects(made) == before
    assert "nothing to do, 2 resources as declared" in shell("plan", file, *target(made)).out
    assert "Nothing to adopt" in shell("adopt", file, "--yes", *target(made)).out


def test_what_a_plan_warns_of_is_said_here_too(shell: Shell, account: Account) -> None:
    async def make(js: JetStream) -> None:
        await make_stream(js, "O", subjects=["o"], allow_direct=True)
        await make_stream(js, "M", mirror={"name": "O"})

    talk(account, make)
    text = "reconciler: 1\ntopology: t\nstreams: {O: {subjects: [o], allow_direct: true}, M: {mirror: {name: O}, mirror_direct: false}}\n"
    file = shell.write(text)
    planned, ran = (shell(*command, *target(account)) for command in (("plan", file), ("adopt", file, "--yes")))
    assert [("XX207 direct-reads-overwritten, warning" in one.out, one.code) for one in (planned, ran)] == [
        (True, 0)
    ] * 2


def test_what_says_that_v_names_all_takes_v(shell: Shell, account: Account) -> None:
    names = [f"STREAM_WITH_A_RATHER_LONG_NAME_{number}" for number in range(20)]

    async def make(js: JetStream) -> None:
        for name in names:
            await make_stream(js, name, subjects=[name])

    talk(account, make)
    file = shell.write("reconciler: 1\ntopology: t\nstreams:\n" + "".join(f"  {name}: {{}}\n" for name in names))
    ran = shell("adopt", file, "--yes", "-v", *target(account))
    assert (ran.code, [name for name in names if name not in ran.out]) == (0, [])


def test_what_differs_is_shown_and_nothing_is_adopted(shell: Shell, made: Account) -> None:
    file = shell.write(FILE.replace("subjects: [a]", "subjects: [a]\n    max_age: 7d") + "  NEW: {}\n")
    ran = shell("adopt", file, "--yes", *target(made))
    assert (ran.code, "max_age" in ran.out, "+ stream/NEW" in ran.out) == (4, True, True)
    assert "2 resources not live as declared" in ran.err
    assert "KV_reconciler" not in talk(made, observe).streams


def test_as_is_adopts_what_is_live_and_the_difference_is_pending_and_no_drift(shell: Shell, made: Account) -> None:
    before, file = objects(made), shell.write(FILE.replace("subjects: [a]", "subjects: [a]\n    max_age: 7d"))
    ran = shell("adopt", file, "--yes", "--as-is", *target(made))
    assert (ran.code, objects(made)) == (0, before), ran
    _, _, differing = ran.out.partition("= stream/A")
    assert "its differences from the file wait for an apply" in " ".join(differing.split())
    assert "max_age" in differing
    assert "Live as declared" not in differing
    assert shell("drift", file, *target(made)).code == 0
    assert shell("plan", file, "--exit-code", *target(made)).code == 2


def test_as_is_says_of_none_that_differs_among_many_that_it_is_live_as_declared(shell: Shell, account: Account) -> None:
    async def make(js: JetStream) -> None:
        for name in "PQRS":
            await make_stream(js, name, subjects=[name.lower()])

    talk(account, make)
    one, *others = (f"  {name}: {{subjects: [{name.lower()}]}}\n" for name in "PQRS")
    file = shell.write(f"reconciler: 1\ntopology: t\nstreams:\n{one.replace('}', ', max_age: 7d}')}{''.join(others)}")
    ran = shell("adopt", file, "--yes", "--as-is", *target(account))
    differing, alike = ran.out.partition("= stream/P")[2], ran.out.partition("= 3 streams")[2]
    assert "its differences from the file wait for an apply" in " ".join(differing.split()), ran
    assert (alike.split("namely ")[1].split("\n")[0], "max_age" in alike.split("namely")[0]) == ("Q R S", False)


def test_what_another_topology_owns_is_not_adopted(shell: Shell, made: Account) -> None:
    assert shell("adopt", shell.write(FILE), "--yes", *target(made)).code == 0
    theirs = shell.write(FILE.replace("topology: t", "topology: u"), "u.yaml")
    assert shell("adopt", theirs, "--yes", *target(made)).code == 4
    assert shell("adopt", theirs, "--yes", "--take-over", "t", *target(made)).code == 0
    assert shell("plan", theirs, "--exit-code", *target(made)).code == 0


def test_an_export_is_adopted_whole(shell: Shell, made: Account) -> None:
    assert shell("export", "-o", "live.yaml", *target(made)).code == 0
    assert "Adopted 2 resources" in shell("adopt", "live.yaml", "--yes", *target(made)).out


async def _bucket_of_two_subjects(js: JetStream) -> None:
    await make_bucket(js, "B", subjects=["$KV.B.>", "b"])


def test_what_is_not_made_like_a_bucket_is_adopted_as_the_one_it_is_declared_as(shell: Shell, account: Account) -> None:
    talk(account, _bucket_of_two_subjects)
    file = shell.write("reconciler: 1\ntopology: t\nkv_buckets: {B: {}}\n")
    differs = shell("adopt", file, "--yes", *target(account))
    assert (differs.code, "[$KV.B.>, b]" in differs.out) == (4, True), differs
    ran = shell("adopt", file, "--yes", "--as-is", *target(account))
    assert (ran.code, "Adopted 1 resource; no object was touched." in ran.out) == (0, True), ran


@pytest.mark.parametrize("more", [[], ["--as-is"]])
def test_a_bucket_is_not_adopted_as_a_stream(shell: Shell, account: Account, more: list[str]) -> None:
    talk(account, lambda js: make_bucket(js, "B"))
    settings = "max_msgs_per_subject: 1, discard: new, deny_delete: true, allow_rollup_hdrs: true, allow_direct: true"
    file = shell.write(f"reconciler: 1\ntopology: t\nstreams: {{KV_B: {{subjects: [$KV.B.>], {settings}}}}}\n")
    ran = shell("adopt", file, "--yes", *more, *target(account))
    assert ("XX541" in ran.out, "Adopted" in ran.out) == (True, False), ran
