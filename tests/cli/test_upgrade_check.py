"""`reconciler upgrade-check` from a shell: exit codes, text and JSON, accounts and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.journeys.upgrade.outcomes import Fate
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.support.accounts import User
from tests.support.binaries import VERSIONS
from tests.support.contracts import followed
from tests.support.jetstream import make_consumer, make_stream, talk
from tests.support.servers import NatsServer, running
from tests.upgrades.stores import LEFT, Place, filled


@pytest.fixture
def server() -> Iterator[NatsServer]:
    with running("2.12") as started:
        filled(started, LEFT["2.12"])
        yield started


def test_an_account_with_something_to_lose_ends_with_4_and_the_worst_comes_first(
    shell: Shell, server: NatsServer
) -> None:
    ran = shell("upgrade-check", "--server", server.url, "--server-version", "2.14.6")
    assert ran.code == 4, ran
    assert ran.out.index("stream/BOTH") < ran.out.index("Also worth knowing")
    assert "7 lost" in ran.out.splitlines()[-1]


def test_the_same_for_tools(shell: Shell, server: NatsServer) -> None:
    ran = shell("upgrade-check", "--server", server.url, "--server-version", "2.14", "--format", "json")
    data = followed("upgrade-check", ran.out)
    assert (ran.code, data["from"], data["to"]) == (4, VERSIONS["2.12"], "2.14")
    fates = [finding["fate"] for finding in data["findings"]]
    assert (fates[0], data["summary"]) == ("lost", {fate.value: fates.count(fate.value) for fate in Fate})
    assert (bool(data["news"]), data["unknown"], data["read"].keys()) == (True, {}, {"streams", "consumers"})


def test_tools_are_told_what_could_not_be_judged(shell: Shell) -> None:
    config = """accounts {A: {jetstream: enabled, users: [{user: a, password: a}, {user: ci, password: ci, permissions: {
      publish: {deny: "$JS.API.CONSUMER.LIST.>"}}}]}}"""

    async def fill(js: JetStream) -> None:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c")

    with NatsServer(config=config) as server:
        talk(User(server, "a"), fill)
        ran = shell("upgrade-check", "--server", server.url, "--user", "ci", "--password", "ci", "--server-version", "2.15",
                    "--format", "json")  # fmt: skip
    unknown = followed("upgrade-check", ran.out)["unknown"]
    assert (ran.code, ["permission" in why for why in unknown.values()]) == (1, [True]), ran


def test_an_account_that_loses_nothing_ends_with_0(shell: Shell) -> None:
    with running("2.14") as server:
        talk(Place(server), lambda js: make_stream(js, "S", subjects=["s.>"]))
        ran = shell("upgrade-check", "--server", server.url, "--server-version", "2.15")
    assert ran.code == 0, ran
    assert "Nothing is lost, refused or rewritten on nats-server 2.15." in ran.out


def test_files_are_judged_alone(shell: Shell) -> None:
    file = shell.write("""reconciler: 1
topology: t
expect: {min_server: "2.12.8"}
streams:
  LATER:
    subjects: [later.>]
    allow_msg_schedules: true
    discard: new
""")
    doomed, refused = (shell("upgrade-check", file, "--server-version", version) for version in ("2.12.8", "2.14.6"))
    later = "this server accepts both, and the next version loses the stream"
    told = [(ran.code, later in " ".join(ran.out.split())) for ran in (doomed, refused)]
    assert told == [(4, True), (4, False)]
    assert "Refused by nats-server 2.14.6" in refused.out
    assert f"{Path(file).name}:7" in refused.out
    for version in ("2.12.8", "2.14.6"):
        data = followed(
            "upgrade-check", shell("upgrade-check", file, "--server-version", version, "--format", "json").out
        )
        assert (data["from"], data["to"], data["read"]) == ("2.12.8", version, {"resources": 1})
        assert {(one["fate"], one["address"], one["span"]["line"]) for one in data["findings"]} == {
            ("refused", "stream/LATER", 7)
        }


def test_files_name_their_oldest_version_and_no_running_server(shell: Shell) -> None:
    sealed = "reconciler: 1\ntopology: t\n%sstreams: {S: {subjects: [s], sealed: true}}\n"
    said = []
    for expect in ("", 'expect: {min_server: "2.12"}\n'):
        ran = shell("upgrade-check", shell.write(sealed % expect), "--server-version", "2.15")
        assert ran.code == 4 and "ST108" in ran.out and "running server" not in ran.out, ran
        said.append("So does the oldest version that these files are for (min_server)." in " ".join(ran.out.split()))
    assert said == [False, True]


def test_files_that_lose_nothing_end_with_0(shell: Shell) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nexpect: {min_server: '2.12.8'}\nstreams: {S: {subjects: [s]}}\n")
    ran = shell("upgrade-check", file, "--server-version", "2.14.6")
    assert (ran.code, "stream/S" in ran.out, "2.14.6" in ran.out) == (0, False, True), ran


def test_a_version_that_is_none_is_wrong_usage(shell: Shell) -> None:
    assert shell("upgrade-check", "x.yaml", "--server-version", "newest").code == 64


def test_a_version_newer_than_what_is_known_is_judged_by_the_newest_rules_and_says_so(shell: Shell) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {S: {}}\n")
    ran = shell("upgrade-check", "--server-version", "9.1", file)
    assert "nats-server 9.1 is newer than the versions known here" in " ".join(ran.out.split())


def test_a_version_older_than_what_is_known_is_judged_by_the_oldest_rules_and_says_so(shell: Shell) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {S: {}}\n")
    ran = shell("upgrade-check", "--server-version", "2.10.1", file)
    older = "nats-server 2.10.1 is older than the versions known here; this uses the rules of 2.11."
    assert older in " ".join(ran.out.split())
    assert "known here" not in shell("upgrade-check", "--server-version", "2.11.3", file).out
