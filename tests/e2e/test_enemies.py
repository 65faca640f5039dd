"""Files and accounts made to hurt: hostile names, bombs, broken records, missing pieces. One clear message each."""

from __future__ import annotations

import json
import os
import re

import pytest

from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.e2e.someone import HEADER, Someone, readable
from tests.support.jetstream import make_bucket, make_consumer, make_stream

GROUPS = """streams:
  JOBS:
    subjects: [jobs.*]
    groups:
      g: {type: elastic, max_members: 4, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}], members: [a, b]}
"""


def quoted(text: str) -> str:
    """As a YAML string: JSON, but for characters beyond 16 bits, which YAML does not escape as pairs."""
    return json.dumps(text) if max(map(ord, text)) < 0x10000 else json.dumps(text, ensure_ascii=False)


HOSTILE = {
    "escape": "\x1b[31mred\x1b[0m",
    "newline": "two\nlines",
    "title": "\x1b]0;owned\x07",
    "eight-bit": "\x9b2J",
    "markdown": "**x** `y` <script>|#",
    "unicode": "naïve-日本-🦀",
    "right-to-left": "a\u202eb",
    "long": "n" * 255,
    "percent": "%s{0}{{",
    "null": "a\x00b",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_in_a_file_never_reaches_the_terminal_raw(someone: Someone, name: str) -> None:
    key = quoted(name)
    text = f"streams:\n  {key}: {{subjects: [a], consumers: {{{key}: {{}}}}, groups: {{{key}: {{}}}}}}\n"
    file = someone.write(text + f"kv_buckets: {{{key}: {{}}}}\nremoved: [{{address: {key}, reason: {key}}}]\n")
    assert someone("plan", file, "--only", name.replace("\x00", "")).code in (1, 4)


def test_hostile_names_that_are_legal_go_the_whole_way(someone: Someone) -> None:
    awkward = ("escape", "eight-bit", "unicode", "right-to-left", "long", "percent")
    legal = [quoted(HOSTILE[name]) for name in awkward]
    entries = (f"  {name}: {{subjects: [s{n}], metadata: {{{name}: {name}}}}}\n" for n, name in enumerate(legal))
    file = someone.write("streams:\n" + "".join(entries))
    ran = someone("apply", file, "--yes")
    assert ran.code == 0, ran
    assert someone.has_nothing_to_do(file)
    assert someone.has_nothing_to_do(someone.write(someone("export").out, "live.yaml"))


@pytest.mark.parametrize("name", ["escape", "eight-bit", "title", "newline"])
def test_hostile_text_of_the_live_account_is_shown_harmless(someone: Someone, name: str) -> None:
    hostile = HOSTILE[name]
    someone.ask(lambda js: make_stream(js, "A", subjects=["a"], description=hostile, metadata={hostile: hostile}))
    someone.ask(lambda js: make_consumer(js, "A", "c", description=hostile))
    ran = someone.plan(
        "streams: {A: {subjects: [a], description: other, consumers: {c: {description: x, ack_policy: explicit}}}}\n",
        "-v",
    )
    assert ran.code == 0
    exported = someone("export")
    assert someone("plan", someone.write(exported.out, "live.yaml"), "--exit-code").code == 0


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines) + "\nstreams: {A: {subjects: *a11}}\n"


BAD = {
    "binary": os.urandom(4096),
    "elf": b"\x7fELF" + bytes(range(256)) * 8,
    "nulls": b"\x00" * 1000,
    "utf16": "reconciler: 1".encode("utf-16"),
    "empty": b"",
    "deep-flow": HEADER.encode() + b"streams: " + b"[" * 20_000,
    "deep-maps": HEADER.encode() + b"streams: " + b"{a: " * 20_000,
    "deep-block": HEADER.encode() + b"streams:\n" + b"".join(b" " * n + b"a:\n" for n in range(1, 1500)),
    "bomb": (HEADER + bomb()).encode(),
    "loop": HEADER.encode() + b"streams: &a {A: *a}\n",
    "tag": HEADER.encode() + b"streams: !!python/object/apply:os.system [id]\n",
    "list": b"- 1\n- 2\n",
    "scalar": b"hello\n",
    "two-documents": HEADER.encode() + b"---\n" + HEADER.encode(),
    "directive": b"%YAML 9.9\n---\n" + HEADER.encode(),
    "long-line": HEADER.encode() + b"streams: {A: {subjects: [" + b"x" * 3_000_000 + b"]}, A: {}}\n",
    "huge-number": HEADER.encode() + b"streams: {A: {subjects: [a], max_msgs: " + b"9" * 5000 + b"}}\n",
    "huge-exponent": HEADER.encode()
    + b"streams: {A: {subjects: [a], max_msgs: 1e999999999, max_bytes: .inf, max_age: .nan}}\n",
    "many-keys": HEADER.encode() + b"streams: {A: {" + b", ".join(b"k%d: 1" % n for n in range(2000)) + b"}}\n",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_bad_file_is_said_in_one_place_and_quickly(shell: Shell, content: bytes) -> None:
    (shell.folder / "bad.yaml").write_bytes(content)
    ran = readable(shell("validate", "bad.yaml"))
    assert (ran.code, ran.err.count("\n") + ran.out.count("\n") > 0) == (1, True)
    assert "bad.yaml" in ran.err + ran.out


def test_a_folder_and_a_file_that_cannot_be_read_are_named(shell: Shell) -> None:
    (shell.folder / "loop").symlink_to(shell.folder / "loop")
    (shell.folder / "gone.yaml").symlink_to(shell.folder / "nowhere")
    (shell.folder / "folder").mkdir()
    os.mkfifo(shell.folder / "folder" / "pipe.yaml")
    for path in ("loop", "gone.yaml", "folder", "missing.yaml", "/dev/null", "/proc/self/mem"):
        ran = readable(shell("validate", path))
        assert (ran.code, path in ran.out, ran.err) == (1, True, ""), ran


def test_a_group_record_broken_by_hand_is_refused_and_said(someone: Someone) -> None:
    someone.applied(GROUPS)

    async def broken(js: JetStream) -> None:
        said = await js.put_entry("elastic-consumer-groups", "JOBS.g", b"{not json", expected_revision=None)
        assert isinstance(said, Stored)

    someone.ask(broken)
    ran = someone.plan(GROUPS)
    assert (ran.code, "EG509 record-not-current, refused" in ran.out) == (4, True), ran
    assert "max_members" not in ran.out, "nobody knows what it was edited to"
    exported = someone("export")
    assert (exported.code, "XX905" in exported.err) == (0, True)


RECORDS = {
    ("static", "surplus"): {"max_members": 2, "filter": "jobs.*", "members": ["a", "b", "c"]},
    ("static", "gap"): {"max_members": 2, "filter": "jobs.*", "member_mappings": [{"member": "a", "partitions": [0]}]},
    ("elastic", "wildcard"): {"max_members": 2, "filter": "jobs.*", "partitioning_wildcards": [3], "members": ["a"]},
    ("static", "sound"): {"max_members": 2, "filter": "jobs.*", "members": ["a"]},
    ("elastic", "sound"): {"max_members": 2, "filter": "jobs.*", "partitioning_wildcards": [1], "members": ["a"]},
}
"""Written by hand; only the last two can work, and a file has one group of a name."""


def test_groups_that_cannot_work_are_left_out_of_the_export_which_then_is_no_offence(someone: Someone) -> None:
    async def make(js: JetStream) -> None:
        await make_stream(js, "JOBS", subjects=["jobs.*"])
        for bucket in ("static", "elastic"):
            await make_bucket(js, f"{bucket}-consumer-groups")
        for (bucket, name), record in RECORDS.items():
            text = json.dumps(record).encode()
            said = await js.put_entry(f"{bucket}-consumer-groups", f"JOBS.{name}", text, expected_revision=None)
            assert isinstance(said, Stored)

    someone.ask(make)
    exported = someone("export")
    left_out = dict(re.findall(r"XX905 (\S+): left out of the file: (.*)", exported.err))
    assert left_out == {
        "elastic_group/JOBS/wildcard": "`jobs.*` has no wildcard 3",
        "static_group/JOBS/gap": "partition 1 is given to nobody",
        "static_group/JOBS/sound": "a file can hold only one of this name: elastic_group/JOBS/sound",
        "static_group/JOBS/surplus": "3 members share 2 partitions, and c would own none",
    }
    assert someone.shell("validate", someone.write(exported.out, "live.yaml")).code == 0


def test_a_group_under_a_name_that_no_member_can_use_is_left_out_of_the_export_and_explained(someone: Someone) -> None:
    async def make(js: JetStream) -> None:
        await make_stream(js, "JOBS", subjects=["jobs.*"])
        await make_bucket(js, "elastic-consumer-groups")
        put = await js.put_entry("elastic-consumer-groups", "JOBS.a\u202eb", b'{"max_members":2}', expected_revision=0)
        assert isinstance(put, Stored)

    someone.ask(make)
    exported = someone("export")
    assert (exported.code, "`a\\u202eb` cannot be part of a key" in " ".join(exported.err.split())) == (0, True)
    assert someone("plan", someone.write(exported.out, "live.yaml"), "--exit-code").code == 0
    assert "GR110" in someone("groups", "doctor").out


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": 99, "topology": "t"}',
        b"\xff\xfe",
        b'{"topology": 3}',
        b'{"format":1,"topology":"t","fields":{"subjects":7,"max_age":"x"},"left":[1]}',
    ],
)
def test_a_ledger_record_broken_by_hand_costs_only_what_it_remembered(someone: Someone, value: bytes) -> None:
    text = "streams: {A: {subjects: [a]}}\n"
    someone.applied(text)

    async def broken(js: JetStream) -> None:
        assert isinstance(await js.put_entry("reconciler", "owned.stream.A", value, expected_revision=None), Stored)

    someone.ask(broken)
    assert someone.plan(text).code == 0
    changed = text.replace("[a]", "[a, b]")
    assert someone.apply(changed).code == 0
    assert someone("plan", "topology.yaml", "--exit-code").code == 0
    assert someone("export").code == 0


def test_an_elastic_group_whose_queue_was_deleted_by_hand_is_mended(someone: Someone) -> None:
    someone.applied(GROUPS)
    someone.ask(lambda js: js.request("STREAM.DELETE.JOBS-g"))
    planned = someone.plan(GROUPS, "--exit-code")
    assert (planned.code, "~ elastic_group/JOBS/g" in planned.out) == (2, True), planned
    assert someone.apply(GROUPS).code == 0
    assert someone.has_nothing_to_do("topology.yaml")


def test_a_group_bucket_deleted_by_hand_is_noticed(someone: Someone) -> None:
    someone.applied(GROUPS)
    someone.ask(lambda js: js.request("STREAM.DELETE.KV_elastic-consumer-groups"))
    planned = someone.plan(GROUPS, "--exit-code")
    assert (planned.code, "+ elastic_group/JOBS/g" in planned.out) == (2, True), planned


def test_a_ledger_deleted_by_hand_is_adopted_anew(someone: Someone) -> None:
    someone.applied(GROUPS)
    someone.ask(lambda js: js.request("STREAM.DELETE.KV_reconciler"))
    assert someone.plan(GROUPS, "--exit-code").code == 0
    assert someone.apply(GROUPS).code == 0
    assert someone.has_nothing_to_do("topology.yaml")


def test_an_account_that_is_full_fails_with_the_servers_reason(someone: Someone) -> None:
    ran = someone.apply("streams: {A: {subjects: [a], max_bytes: 9_000_000_000_000_000_000}}\n")
    assert (ran.code, "insufficient storage resources available (10047)" in ran.out) == (1, True), ran
