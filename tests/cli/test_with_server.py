"""plan, apply and export against a real server, as a script or a person runs them."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.cli.running import EXAMPLES, PATIENCE, ROOT, TOPOLOGIES, Ran, Shell, command, environment, on_a_terminal
from tests.e2e.someone import start
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.terminal import hanging_up

SMALL = "reconciler: 1\ntopology: t\nstreams:\n  A:\n    subjects: [a]\n    consumers: {c: {ack_policy: explicit}}\n"


def target(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


def applied(shell: Shell, account: Account, text: str = SMALL) -> str:
    file = shell.write(text)
    assert shell("apply", file, "--yes", *target(account)).code == 0
    return file


def test_a_plan_with_changes_is_fine_and_two_when_asked(shell: Shell, account: Account) -> None:
    file = shell.write(SMALL)
    plain, asked = shell("plan", file, *target(account)), shell("plan", file, "--exit-code", *target(account))
    assert (plain.code, asked.code, plain.err) == (0, 2, "")


def test_the_next_command_repeats_everything_and_hides_secrets(shell: Shell, account: Account) -> None:
    ran = shell("plan", shell.write(SMALL), "--only", "stream/*", *target(account))
    following = "\nNext: reconciler apply topology.yaml --only 'stream/*' --server"
    assert ran.out.endswith(f"{following} {account.url} --user {account.user} --password '…'\n")
    hidden, login = (f"nats://{name}@" for name in ("…", f"{account.user}:{account.password}"))
    within = shell("plan", shell.write(SMALL), "--only", "stream/*", "--server", account.url.replace("nats://", login))
    assert within.out.endswith(f"{following} '{account.url.replace('nats://', hidden)}'\n")


def test_the_next_command_repeats_how_to_listen_and_to_wait(shell: Shell, account: Account) -> None:
    more = ("--inbox-prefix", "_INBOX_ci", "--timeout", "9s")
    ran = shell("plan", shell.write(SMALL), *target(account), *more)
    assert ran.out.endswith(f"--password '…' {' '.join(more)}\n")


GROUPED = """reconciler: 1
topology: t
streams:
  A:
    subjects: [a.*]
    max_age: 1d
    groups: {g: {type: static, max_members: 4, filters: [a.*], members: [m]}}
"""


def test_consent_to_nothing_is_told_and_repeated_in_no_next_command(shell: Shell, account: Account) -> None:
    applied(shell, account, GROUPED)
    file = shell.write(GROUPED.replace("[m]", "[m, p]"))
    vain = ("SG101=static_group/A/g", "ST999=stream/A", "ST301=stream/B", "CO310=consumer/A/*")
    ran = shell("plan", file, *(word for one in vain for word in ("--allow", one)), *target(account))
    assert ran.err == ""
    told = " ".join(ran.out.split())
    assert "no consent covers SG101 static-group-change here" in told
    assert "no rule has the code ST999" in told
    assert "no verdict ST301 was found at stream/B" in told
    assert "no verdict CO310 was found at consumer/A/*" in told
    assert [line for line in ran.out.splitlines() if "reconciler" in line and "--allow" in line] == []
    assert ran.code == 4


def test_an_edited_record_of_a_static_group_is_taken_over_and_not_written_back(shell: Shell, account: Account) -> None:
    """Writing the old record would end the instances that run by the new one."""
    file = applied(shell, account, GROUPED)
    edited = {"max_members": 4, "filters": ["a.*"], "members": ["m", "p"]}
    talk(
        account,
        lambda js: js.put_entry("static-consumer-groups", "A.g", json.dumps(edited).encode(), expected_revision=None),
    )
    planned = shell("plan", file, *target(account))
    assert planned.code == 4
    assert "take over what is live with `drift accept`" in " ".join(planned.out.split())
    assert shell("drift", "accept", file, *target(account)).code == 0
    assert shell("apply", file, "--yes", *target(account)).code == 0
    assert "nothing to do" in shell("plan", file, *target(account)).out


def test_an_entry_of_forget_whose_work_is_done_hides_no_harm_to_the_new_owner(shell: Shell, account: Account) -> None:
    applied(shell, account, "reconciler: 1\ntopology: aa\nstreams: {AA: {subjects: [a.>]}}\n")
    applied(shell, account, "reconciler: 1\ntopology: ab\nstreams: {AM: {mirror: {name: AA}}}\n")
    gone = "reconciler: 1\ntopology: aa\nremoved: [{address: stream/AA, reason: r}]\n"
    plain, left_over = (
        shell("plan", shell.write(text), *target(account)) for text in (gone, f"{gone}forget: [stream/AM]\n")
    )
    assert (plain.code, left_over.code) == (4, 4)
    assert (
        "XX231 dependants-left-behind, refused" in plain.out
        and "XX231 dependants-left-behind, refused" in left_over.out
    )
    assert "Already gone" not in left_over.out


def test_consent_that_is_needed_is_repeated(shell: Shell, account: Account) -> None:
    applied(shell, account, GROUPED)
    file = shell.write(GROUPED.replace("max_age: 1d", "deny_delete: true"))
    ran = shell("plan", file, "--allow", "ST206=stream/A", "--allow", "ST206=stream/B", *target(account))
    [following] = [line for line in ran.out.splitlines() if line.startswith("Next: ")]
    assert (ran.code, "--allow ST206=stream/A" in following, "stream/B" in following) == (0, True, False)


def test_after_an_apply_the_plan_is_one_line_and_nothing_is_pending(shell: Shell, account: Account) -> None:
    file = applied(shell, account)
    ran = shell("plan", file, "--exit-code", *target(account))
    assert (ran.code, ran.out.count("\n")) == (0, 1)
    assert "nothing to do, 2 resources as declared" in ran.out


def test_apply_shows_the_plan_first_and_then_what_was_done(shell: Shell, account: Account) -> None:
    ran = shell("apply", shell.write(SMALL), "--yes", *target(account))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.index("+ stream/A") < ran.out.index("Applied 2 steps (2 creates)")


def test_json_is_the_published_contract(shell: Shell, account: Account) -> None:
    ran = shell("plan", shell.write(SMALL), "--format", "json", *target(account))
    plan = json.loads(ran.out)
    jsonschema.validate(plan, json.loads((ROOT / "schemas" / "plan.schema.json").read_text()))
    assert [change["address"] for change in plan["changes"]] == ["consumer/A/c", "stream/A"]


def test_a_refusal_exits_4_and_nothing_is_applied(shell: Shell, account: Account) -> None:
    applied(shell, account)
    worse = SMALL.replace("subjects: [a]", "subjects: [a, b]\n    storage: memory")
    ran = shell("apply", shell.write(worse), "--yes", *target(account))
    assert ran.code == 4
    assert "Nothing can be applied while something is refused." in ran.out
    assert shell("plan", shell.write(SMALL), "--exit-code", *target(account)).code == 0


def test_partial_applies_the_rest_and_still_exits_4(shell: Shell, account: Account) -> None:
    applied(shell, account)
    worse = SMALL.replace("subjects: [a]", "subjects: [a]\n    storage: memory") + "  B: {subjects: [b]}\n"
    ran = shell("apply", shell.write(worse), "--yes", "--partial", *target(account))
    assert ran.code == 4
    assert ran.out.endswith("1 change left out.\n")
    rest = SMALL + "  B: {subjects: [b]}\n"
    assert shell("plan", shell.write(rest), "--exit-code", *target(account)).code == 0


def test_partial_deletes_no_consumer_whose_stream_it_leaves(shell: Shell, account: Account) -> None:
    mirror = "  M: {mirror: {name: A}}\n"
    assert shell("apply", shell.write(SMALL + mirror), "--yes", *target(account)).code == 0
    gone = "removed:\n- {address: stream/A, reason: r}\n- {address: consumer/A/c, reason: r}\n"
    removal = f"reconciler: 1\ntopology: t\nstreams:\n{mirror}{gone}"
    ran = shell("apply", shell.write(removal), "--yes", "--partial", *target(account))
    assert ran.code == 4
    assert "1 needs consent, 1 waiting" in ran.out
    assert shell("plan", shell.write(SMALL + mirror), "--exit-code", *target(account)).code == 0


def test_export_then_plan_is_empty(shell: Shell, account: Account) -> None:
    applied(shell, account)
    live = shell("export", *target(account))
    ran = shell("plan", shell.write(live.out, "live.yaml"), "--exit-code", *target(account))
    assert (live.code, live.err, ran.code) == (0, "", 0)
    assert "nothing to do" in ran.out


def test_export_never_overwrites_a_file(shell: Shell, account: Account) -> None:
    file = shell.write("precious")
    ran = shell("export", "-o", file, *target(account))
    assert ran.code == 1
    assert (shell.folder / file).read_text() == "precious"


def test_an_unreachable_server_is_one_sentence(shell: Shell) -> None:
    ran = shell("plan", shell.write(SMALL), "--server", "127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Cannot reach nats://127.0.0.1:1: connection refused")
    assert "Nothing was changed." in ran.err


def test_a_refused_login_never_shows_the_password(shell: Shell, account: Account) -> None:
    ran = shell(
        "plan", shell.write(SMALL), "--server", account.url, "--user", account.user, "--password", "s3cr3t-word"
    )
    assert (ran.code, ran.out) == (1, "")
    assert "s3cr3t-word" not in ran.err


@pytest.mark.parametrize("example", TOPOLOGIES)
def test_every_example_can_be_applied_and_is_then_in_place(shell: Shell, account: Account, example: str) -> None:
    path = str(EXAMPLES / example)
    ran = shell("apply", path, "--yes", *target(account))
    again = shell("plan", path, "--exit-code", *target(account))
    assert (ran.code, again.code, again.out.count("\n")) == (0, 0, 1)


def test_on_a_terminal_apply_asks_and_yes_goes_ahead(shell: Shell, account: Account) -> None:
    ran = on_a_terminal(shell, "y\n", "apply", shell.write(SMALL), *target(account))
    assert ran.code == 0
    assert "Apply this (2 steps) to t → account" in ran.err
    assert "Applied 2 steps" in ran.out


def test_on_a_terminal_anything_but_yes_changes_nothing(shell: Shell, account: Account) -> None:
    ran = on_a_terminal(shell, "\n", "apply", shell.write(SMALL), *target(account))
    assert ran.code == 1
    assert "Nothing was changed." in ran.err
    assert "Applied" not in ran.out


async def stalling(port: int, at: bytes, stalled: asyncio.Event) -> asyncio.Server:
    """A wire on which requests from the first one with `at` on are never answered."""

    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, request = await asyncio.open_connection("127.0.0.1", port)

        async def requests() -> None:
            while line := await client.readline():  # in which a subject stands whole
                if at in line:
                    stalled.set()
                if not stalled.is_set():
                    request.write(line)
            request.close()

        async def answers() -> None:
            while chunk := await server.read(65536):
                answer.write(chunk)

        try:
            await asyncio.gather(requests(), answers(), return_exceptions=True)
        finally:  # also when the test is over before
            request.close()
            answer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


@pytest.fixture
def with_a_terminal() -> Iterator[None]:
    with hanging_up(signal.SIG_DFL):
        yield


@pytest.mark.usefixtures("with_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_apply_says_what_was_done_and_exits_130(
    shell: Shell, account: Account, number: signal.Signals
) -> None:
    file = shell.write(SMALL)

    async def interrupted() -> Ran:
        stalled = asyncio.Event()
        wire = await stalling(account.server.port, b"CONSUMER.CREATE", stalled)
        through = ["--server", f"127.0.0.1:{wire.sockets[0].getsockname()[1]}", *target(account)[2:]]
        running = await asyncio.create_subprocess_exec(
            *command("apply", file, "--yes", *through), cwd=shell.folder, env=environment(shell.folder),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await asyncio.wait_for(stalled.wait(), PATIENCE)
        running.send_signal(number)
        out, err = await asyncio.wait_for(running.communicate(), PATIENCE)
        wire.close()
        return Ran(code=running.returncode or 0, out=out.decode(), err=err.decode())

    ran = asyncio.run(interrupted())
    assert ran.code == 130
    assert "Traceback" not in ran.err
    assert "Interrupted after 1 of 2 steps" in ran.out
    assert "In doubt: consumer/A/c" in " ".join(ran.out.split())
    assert "no lease is held" in shell("unlock", *target(account)).out


@pytest.mark.parametrize("words", [("plan",), ("apply", "--yes"), ("drift",), ("adopt", "--yes")], ids=" ".join)
@pytest.mark.usefixtures("with_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_interrupted_before_it_did_anything_says_so(
    shell: Shell, words: tuple[str, ...], number: signal.Signals
) -> None:
    file = shell.write(SMALL)

    async def interrupted() -> Ran:
        connected, ended = asyncio.Event(), asyncio.Event()

        async def say_nothing(_request: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
            connected.set()
            await ended.wait()
            answer.close()

        silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        url = f"nats://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        running = await start(shell, *words, file, "--server", url)
        await asyncio.wait_for(connected.wait(), PATIENCE)
        running.send_signal(number)
        out, err = await asyncio.wait_for(running.communicate(), PATIENCE)
        ended.set()
        silent.close()
        return Ran(code=running.returncode or 0, out=out.decode(), err=err.decode())

    ran = asyncio.run(interrupted())
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.startswith("Interrupted."), ran


def test_the_embedded_server_lasts_between_commands_until_it_is_stopped(shell: Shell) -> None:
    file = shell.write(SMALL)
    try:
        assert shell("dev", "status").code == 1
        assert shell("apply", file, "--dev", "--yes").code == 0
        assert shell("dev", "status").out.startswith("running: nats://127.0.0.1:")
        assert shell("dev", "stop").out == "Stopped; its data stays.\n"
        assert "nothing to do" in shell("plan", file, "--dev").out
    finally:
        shell("dev", "wipe", "--yes")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """Where it was run, and what it told: of an installation that is not on the PATH."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, Shell(folder)("demo", PATH=os.defpath)


def test_the_demo_tells_its_story_to_the_end(demo: tuple[Path, Ran]) -> None:
    folder, ran = demo
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.index("Applied 10 steps") < ran.out.index("partitions move with") < ran.out.index("CO121")
    assert not (folder / ".reconciler").exists()


def test_the_demo_ends_with_a_command_that_can_be_typed_where_it_was_run(demo: tuple[Path, Ran]) -> None:
    folder, ran = demo
    *program, first, files, last = shlex.split(ran.out.rpartition("Your turn: ")[2])
    typed = subprocess.run(
        [*program, "validate", files], cwd=folder, env=environment(folder, PATH=os.defpath), check=False
    )
    assert (typed.returncode, first, last) == (0, "plan", "--dev")


def test_the_demo_needs_nothing_of_the_folder_it_is_run_in(shell: Shell, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "orders", tmp_path / "orders")
    before = (tmp_path / "orders" / "orders.yaml").read_text()
    assert shell("demo").code == 0
    assert (tmp_path / "orders" / "orders.yaml").read_text() == before


def test_a_misspelt_removal_is_told_from_one_that_is_done(shell: Shell, account: Account) -> None:
    applied(shell, account, SMALL + "  ORDERS: {subjects: [orders]}\n  ORDERS_OLD: {subjects: [old]}\n")
    slip, done = (
        SMALL + f"removed: [{{address: stream/{name}, reason: over}}]\n" for name in ("ORDRES_OLD", "ORDERS_OLD")
    )
    said = "topology.yaml:7:21 error XX916 stream/ORDRES_OLD: `removed` names `stream/ORDRES_OLD`, which does not exist"
    for looking in (("plan",), ("apply", "--yes"), ("drift",)):
        ran = shell(*looking, shell.write(slip), *target(account))
        assert (ran.code, said in ran.out + ran.err, "did you mean `stream/ORDERS_OLD`?" in ran.out + ran.err) == (
            1,
            True,
            True,
        )
    assert shell("apply", shell.write(done), "--yes", *target(account)).code == 0
    # ORDERS is as much like it, live, ours and not declared; but what is gone was removed under this very name.
    again = shell("plan", "topology.yaml", *target(account))
    assert (again.code, "XX916" in again.out) == (0, False)


def test_a_topology_that_was_never_applied_beside_one_that_was_is_pending(shell: Shell, account: Account) -> None:
    assert shell("apply", shell.write(SMALL), "--yes", *target(account)).code == 0
    other = shell.write("reconciler: 1\ntopology: other\nstreams: {B: {subjects: [b]}}\n", "other.yaml")
    ran = shell("drift", other, *target(account))
    assert (ran.code, "pending" in ran.out, "missing" in ran.out) == (0, True, False), ran.out


@pytest.mark.parametrize("option", ["--exclude", "--only"])
def test_nothing_is_applied_where_a_pattern_matches_nothing(shell: Shell, account: Account, option: str) -> None:
    file = shell.write(SMALL)
    for command_line in (("plan",), ("apply", "--yes", "--partial"), ("drift",), ("adopt", "--yes")):
        ran = shell(*command_line, file, option, "stream/AA", *target(account))
        assert (ran.code, ran.out) == (1, ""), ran
        assert f"{option} stream/AA matches nothing that this topology declares or owns" in ran.err
        assert "write stream/A, or leave the option out" in ran.err
    assert account.ask("STREAM.NAMES")["total"] == 0
    assert shell("apply", file, "--yes", option, "consumer/*", *target(account)).code == (
        0 if option == "--exclude" else 1
    )
