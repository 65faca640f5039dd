"""Disks that fill up, here and at the server: a clear word, nothing half written, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.documents.write.atomic import write_whole
from reconciler.server.wire.api import JetStream
from tests.bench.workload import yaml
from tests.cli.running import ROOT, Ran, Shell
from tests.e2e.someone import Someone, login
from tests.size.disks import alone, small_disk, with_files_up_to
from tests.support.accounts import Account
from tests.support.binaries import NEWEST, OLDEST
from tests.support.jetstream import done

FULL = "file too large."
"""What the limit of these tests is called, where a disk would have no space left on it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Limited:
    """Whole files, written by a process for which none can be larger than 4 KiB."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, *, only_new: bool = False, **sizes: int) -> str:
        """What became of files of these sizes: nothing, or the file that had no room."""
        program = (
            "import resource, sys; from pathlib import Path; from reconciler.documents.write.atomic import write_whole\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            f"try: write_whole({{Path(n): b'n' * s for n, s in {sizes!r}.items()}}, only_new={only_new})\n"
            "except OSError as error: print(error.filename)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", program], cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return ran.stdout.strip()


def test_where_nothing_can_be_removed_either_the_file_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(OSError, match="Read-only") as raised:
        write_whole({folder / "plan.json": b"{}"})
    assert raised.value.filename == str(folder / "plan.json")


def test_what_has_no_room_leaves_what_was_there(folder: Path) -> None:
    (folder / "a").write_text("was")
    assert Limited(folder).write(a=5_000) == "a"
    assert ((folder / "a").read_text(), files_in(folder)) == ("was", ["a"])


def test_where_one_of_several_has_no_room_none_is_written(folder: Path) -> None:
    (folder / "a").write_text("was")
    assert Limited(folder).write(a=10, b=5_000) == "b"
    assert ((folder / "a").read_text(), files_in(folder)) == ("was", ["a"])
    assert Limited(folder).write(a=10, b=4_000) == ""
    assert [(folder / name).stat().st_size for name in files_in(folder)] == [10, 4_000]


def test_new_files_without_room_are_not_there_at_all(folder: Path) -> None:
    assert Limited(folder).write(only_new=True, a=10, b=5_000) == "b"
    assert files_in(folder) == []


def test_a_file_that_came_meanwhile_is_not_written_over(folder: Path) -> None:
    (folder / "b").write_text("somebody else's")
    with pytest.raises(FileExistsError) as there:
        write_whole({folder / "b": b"ours"}, only_new=True)
    assert (there.value.filename, (folder / "b").read_text()) == (str(folder / "b"), "somebody else's")
    assert files_in(folder) == ["b"]


def test_a_link_goes_on_leading_where_it_led_and_a_file_stays_as_readable_as_it_was(folder: Path) -> None:
    (folder / "there").write_text("was")
    (folder / "there").chmod(0o640)
    (folder / "link").symlink_to("there")
    write_whole({folder / "link": b"is"})
    assert ((folder / "there").read_text(), (folder / "link").is_symlink()) == ("is", True)
    assert (folder / "there").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("writer", [0, 65534])
def test_a_file_stays_its_owners_whoever_writes_it_anew(writer: int) -> None:
    """Whoever may not give a file away writes into it. Run by somebody who is not root, it is all one user's."""
    program = (
        "import os, tempfile; from pathlib import Path; from reconciler.documents.write.atomic import write_whole\n"
        "folder = Path(tempfile.mkdtemp()); folder.chmod(0o777); file = folder / 'f'; file.write_text('was longer')\n"
        "os.getuid() or os.chown(file, 12345, 12346); file.chmod(0o666); was = file.stat()\n"
        f"os.getuid() or os.setuid({writer})\n"
        "write_whole({file: b'is'}); now = file.stat()\n"
        "assert (now.st_uid, now.st_gid, now.st_mode) == (was.st_uid, was.st_gid, was.st_mode), (was, now)\n"
        "assert os.listdir(folder) == ['f']; print(file.read_text())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("is\n", "")


def test_what_was_opened_by_somebody_else_is_written_to_and_not_replaced(folder: Path) -> None:
    program = "from pathlib import Path; from reconciler.documents.write.atomic import write_whole as w; w({Path('/dev/stdout'): b'b'})"
    line = f'{{ printf a; {sys.executable} -c "{program}" | cat; }} > out; cat out'
    ran = subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert ran.stdout == b"ab"


def test_a_file_in_a_folder_that_takes_no_other_is_written_all_the_same() -> None:
    """As one file of a host that is mounted into a container."""
    program = (
        "import os, tempfile; from pathlib import Path; from reconciler.documents.write.atomic import write_whole\n"
        "folder = Path(tempfile.mkdtemp()); file = folder / 'f'; file.write_text('was longer'); file.chmod(0o666)\n"
        "folder.chmod(0o555); os.getuid() or os.setuid(65534)\n"
        "write_whole({file: b'is'}); print(file.read_text())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("is\n", "")


@pytest.fixture
def someone(tmp_path: Path, account: Account) -> Someone:
    return Someone(Shell(tmp_path), account, login(account))


def limited(someone: Someone, size: int, *arguments: str) -> tuple[int, str]:
    ran = with_files_up_to(size, someone.shell.folder, *arguments, *someone.login)
    return ran.code, " ".join(ran.err.split())


def test_a_plan_and_an_export_without_room_leave_the_old_files_and_no_half_ones(someone: Someone) -> None:
    file, folder = someone.write(yaml(30)), someone.shell.folder
    someone.applied(yaml(30))
    (folder / "plan.json").write_text("the plan before")
    (folder / "live.yaml").write_text("the account before")
    before = files_in(folder)
    someone.write(yaml(31))
    room = "Make room there, or name another place."
    assert limited(someone, 4096, "plan", file, "--out", "plan.json") == (1, f"Cannot write plan.json: {FULL} {room}")
    for name in (("--output", "live.yaml", "--overwrite"), ("--output", "new.yaml")):
        assert limited(someone, 4096, "export", *name) == (1, f"Cannot write {name[1]}: {FULL} {room}")
    code, said = limited(someone, 512, "export", "--into", "folder")
    assert (code, said) == (1, f"Cannot write folder/bench.yaml: {FULL} {room}")
    assert files_in(folder) == before
    assert (folder / "plan.json").read_text() == "the plan before"
    assert (folder / "live.yaml").read_text() == "the account before"


def test_an_apply_whose_report_has_no_room_changes_nothing_and_says_so(someone: Someone) -> None:
    code, said = limited(someone, 4096, "apply", someone.write(yaml(5)), "--yes", "--report", "json=report.json")
    assert code == 1
    assert said == f"Cannot write report.json: {FULL} Nothing was changed. Make room there, or name another place."
    assert done(someone.ask(lambda js: js.request("STREAM.NAMES")))["total"] == 0
    report = json.loads((someone.shell.folder / "report.json").read_text())  # that it failed has room
    assert [one["code"] for one in report["diagnostics"]] == ["XX902"]


def test_a_file_without_room_for_what_is_live_stays_as_it_was(someone: Someone) -> None:
    said = yaml(3)
    someone.applied(said)

    async def described(js: JetStream) -> None:
        for number in range(3):
            config = done(await js.request(f"STREAM.INFO.S{number:05d}"))["config"]
            done(await js.request(f"STREAM.UPDATE.S{number:05d}", {**config, "description": "d" * 4_000}))

    someone.ask(described)
    code, told = limited(someone, 8192, "drift", "accept", "topology.yaml")
    assert (code, (someone.shell.folder / "topology.yaml").read_text()) == (1, said)
    assert (
        told
        == f"Cannot write topology.yaml: {FULL} No file was changed. Check that it may be written, or edit it by hand."
    )


def test_a_backup_without_room_leaves_no_half_of_one_and_nothing_is_deleted(someone: Someone) -> None:
    kept = "streams: {B: {subjects: [b]}}\n"
    someone.applied(kept.replace("{B: ", "{A: {subjects: [a]}, B: "))

    async def filled(js: JetStream) -> None:
        for _ in range(20):
            await js.pipeline.nc.publish("a", os.urandom(10_000))
        await js.pipeline.nc.flush()

    someone.ask(filled)
    file = someone.write(
        f"{kept}allow: [{{code: ST310, on: stream/A, reason: old}}]\nremoved: [{{address: stream/A, reason: old}}]\n"
    )
    code, said = limited(someone, 65_536, "apply", file, "--yes", "--backup", "kept")
    assert (code, said) == (
        1,
        f"Cannot write kept: {FULL} Nothing was changed. Make room there, or name another place.",
    )
    assert files_in(someone.shell.folder) == ["topology.yaml"]
    assert done(someone.ask(lambda js: js.request("STREAM.INFO.A")))["state"]["messages"] == 20


@pytest.mark.skipif(alone() is None, reason="nobody may mount a file system here, not even for himself")
@pytest.mark.parametrize("minor", [OLDEST, NEWEST])
def test_a_server_whose_disk_is_full_is_told_as_that(tmp_path: Path, minor: str) -> None:
    """From 2.14 on such a server stores nothing more in a stream until it is started again, and says nothing."""
    with small_disk(tmp_path, minor=minor) as disk:
        shell, login = Shell(tmp_path), ("--server", disk.server.url)
        some, more = shell.write(yaml(2), "some.yaml"), shell.write(yaml(20), "more.yaml")
        assert shell("apply", some, "--yes", *login).code == 0
        disk.fill(but=200_000)
        ran = shell("apply", more, "--yes", *login)
        assert (ran.code, told(ran, "make room on the server's disk, which is full"), told(ran, "report it")) == (
            1,
            True,
            False,
        )
        again = shell("apply", more, "--yes", *login)
        assert (again.code, told(again, "is full" if minor == OLDEST else "as it does once its disk was full")) == (
            1,
            True,
        )
        disk.make_room()
        if minor != OLDEST:
            taken = shell("unlock", more, "--yes", *login)
            assert (taken.code, told(taken, "as it does once its disk was full")) == (1, True)
            disk.restart()
        assert shell("apply", more, "--yes", *login).code == 0
        plan = shell("plan", more, *login)
        assert told(plan, "nothing to do, 120 resources as declared"), plan


def told(ran: Ran, words: str) -> bool:
    return words in " ".join((ran.out + ran.err).split())
