"""What is promised about ownership, refusals, selection and exit codes, seen from the shell."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.memory.lease import lease_key
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell, command, environment
from tests.e2e.someone import Someone, readable
from tests.support.accounts import Account
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream

AB = "streams:\n  A: {subjects: [a], consumers: {c: {ack_policy: explicit}}}\n  B: {subjects: [b]}\n"
REFUSED = AB.replace("A: {subjects: [a]", "A: {subjects: [a], storage: memory") + "  C: {subjects: [c]}\n"


async def streams(js: JetStream) -> list[str]:
    names = done(await js.request("STREAM.NAMES"))["streams"] or []
    return sorted(name for name in names if not name.startswith("KV_"))


async def info_a(js: JetStream) -> dict[str, object]:
    said = done(await js.request("STREAM.INFO.A"))
    return {"config": said["config"], "created": said["created"]}


def test_removed_deletes_and_the_next_plan_is_empty(someone: Someone) -> None:
    someone.applied(AB)
    less = AB.replace("  B: {subjects: [b]}\n", "") + "removed: [{address: stream/B, reason: done with it}]\n"
    ran = someone.apply(less)
    assert (ran.code, someone.ask(streams)) == (0, ["A"])
    assert someone.has_nothing_to_do("topology.yaml")


def test_what_is_no_longer_declared_is_listed_and_kept(someone: Someone) -> None:
    someone.applied(AB)
    ran = someone.apply(AB.replace("  B: {subjects: [b]}\n", ""))
    assert (ran.code, someone.ask(streams)) == (0, ["A", "B"])
    assert "stream/B" in ran.out


def test_forget_gives_up_and_another_topology_may_take_it(someone: Someone) -> None:
    someone.applied(AB)
    ran = someone.apply(AB.replace("  B: {subjects: [b]}\n", "") + "forget: [stream/B]\n")
    assert re.search(r"^Forgotten in [0-9.]+ s: 1 record is removed, and no object was touched\.", ran.out, re.M)
    other = someone.write("reconciler: 1\ntopology: other\nstreams: {B: {subjects: [b]}}\n", "other.yaml")
    ran = someone("apply", other, "--yes")
    assert (ran.code, someone.ask(streams)) == (0, ["A", "B"])
    assert someone.has_nothing_to_do(other)


def test_adoption_leaves_the_object_untouched_and_happens_once(someone: Someone) -> None:
    someone.ask(lambda js: make_stream(js, "A", subjects=["a"]))
    before = someone.ask(info_a)
    text = "streams: {A: {subjects: [a]}}\n"
    first, second = someone.apply(text), someone.apply(text)
    assert (first.code, second.code) == (0, 0)
    assert "adopt" in first.out
    assert "adopt" not in second.out
    assert someone.ask(info_a) == before


def test_what_another_topology_owns_is_refused(someone: Someone) -> None:
    someone.applied(AB)
    other = someone.write("reconciler: 1\ntopology: other\nstreams: {B: {subjects: [b, x]}}\n", "other.yaml")
    ran = someone("apply", other, "--yes")
    assert ran.code == 4
    assert "Topology `t` owns this; this topology is `other`." in " ".join(ran.out.split())


def test_a_refusal_stops_everything(someone: Someone) -> None:
    someone.applied(AB)
    ran = someone.apply(REFUSED)
    assert (ran.code, someone.ask(streams)) == (4, ["A", "B"])
    assert "ST101" in ran.out


def test_partial_applies_the_rest_and_is_still_a_refusal(someone: Someone) -> None:
    someone.applied(AB)
    ran = someone.apply(REFUSED, "--partial")
    assert (ran.code, someone.ask(streams)) == (4, ["A", "B", "C"])


def test_only_and_exclude_say_how_many_changes_they_hide(someone: Someone) -> None:
    only = someone.apply(AB, "--only", "stream/B")
    assert (only.code, someone.ask(streams)) == (0, ["B"])
    assert "2 changes" in " ".join(only.out.split())
    excluded = someone.apply(AB, "--exclude", "consumer/*")
    assert (excluded.code, someone.ask(streams)) == (0, ["A", "B"])
    assert "1 change" in excluded.out


def test_a_selection_that_matches_nothing_is_said(someone: Someone) -> None:
    ran = someone.plan(AB, "--only", "strem/A")
    assert (ran.code, ran.out) == (1, "")
    assert "--only strem/A matches nothing" in " ".join(ran.err.split())


def test_selecting_a_consumer_without_its_missing_stream_is_explained(someone: Someone) -> None:
    ran = someone.apply(AB, "--only", "consumer/A/c")
    assert "Waits for stream/A" in ran.out
    assert "Next: reconciler apply" not in ran.out
    assert someone.ask(streams) == []


@pytest.mark.parametrize(
    "expect", ["account: OTHER", "cluster: prod", "domain: hub", 'min_server: "2.99"'], ids=lambda e: e.split(":")[0]
)
def test_the_wrong_place_is_refused_before_anything_is_compared(someone: Someone, expect: str) -> None:
    text = "expect: {" + expect + "}\n" + AB
    planned, applied = someone.plan(text), someone.apply(text)
    assert (planned.code, applied.code, someone.ask(streams)) == (1, 1, [])
    assert "topology.yaml:3:" in applied.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("aplly", "x"),
        ("apply",),
        ("plan", "x", "--no-such"),
        ("plan", "x", "--format", "yaml"),
        ("apply", "x", "--yes", "y", "--timeout", "soon"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_64_and_names_the_help(shell: Shell, arguments: tuple[str, ...]) -> None:
    ran = readable(shell(*arguments))
    assert (ran.code, ran.out) == (64, "")
    assert "--help" in ran.err


def test_applications_may_create_again_what_was_adopted_and_applied(someone: Someone) -> None:
    async def start_up(js: JetStream) -> list[object]:
        return [
            await make_stream(js, "A", subjects=["a"]),
            await make_consumer(js, "A", "c"),
            await make_bucket(js, "CONFIG"),
        ]

    someone.ask(start_up)
    text = "streams: {A: {subjects: [a], consumers: {c: {ack_policy: explicit}}}}\nkv_buckets: {CONFIG: {}}\n"
    for _ in range(2):
        ran = someone.apply(text)
        assert ran.code == 0, ran
        someone.ask(start_up)  # fails with the refusal
    assert someone.has_nothing_to_do("topology.yaml")


def test_json_goes_to_stdout_alone_also_when_refused(someone: Someone) -> None:
    someone.applied(AB)
    ran = someone.plan(REFUSED, "--format", "json")
    assert (ran.code, ran.err) == (4, "")
    assert json.loads(ran.out)["summary"]["refused"] == 1


def test_an_export_of_somebody_elses_objects_can_be_made_anew(
    someone: Someone, account: Account, elsewhere: Callable[[str], Someone]
) -> None:
    someone.ask(lambda js: make_stream(js, "A", subjects=["a.>"], max_age=3_600_000_000_000, description="ä \u202e x"))
    someone.ask(lambda js: make_consumer(js, "A", "c", priority_policy="overflow", priority_groups=["g"]))
    exported = someone("export")
    file = someone.write(exported.out, "live.yaml")
    planned = json.loads(someone("plan", file, "--format", "json").out)
    assert planned["summary"]["create"] == planned["summary"]["update"] == 0
    again = elsewhere(account.minor)
    assert again("apply", file, "--yes").code == 0
    assert again("export").out == exported.out


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_behind_the_output_is_one_sentence_and_nothing_is_applied(someone: Someone) -> None:
    file = someone.write(AB)
    with FULL.open("w") as output:
        done = subprocess.run(
            command("apply", file, "--yes", *someone.login), cwd=someone.shell.folder, stdout=output,
            env=environment(someone.shell.folder), stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, someone.ask(streams)) == (1, [])
    assert done.stderr.startswith("The output could not be written: no space left on device.")


def test_a_closed_output_hurts_nobody(someone: Someone) -> None:
    line = shlex.join(command("plan", someone.write(AB), *someone.login))
    done = subprocess.run(
        ["sh", "-c", f"{line} <&- >&-"], cwd=someone.shell.folder, env=environment(someone.shell.folder),
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_an_apply_goes_on_when_nobody_reads_how_it_goes(someone: Someone) -> None:
    """Whoever read its progress is gone by the time it says that it waits for somebody else's lease."""
    someone.applied("streams: {FIRST: {subjects: [first]}}\n")
    file = someone.write(AB)
    someone.ask(leave_a_lease)
    nobody, writing = os.pipe()
    os.close(nobody)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(
            command("apply", file, "--yes", *someone.login), cwd=someone.shell.folder, text=True, check=False,
            env=environment(someone.shell.folder), stdout=subprocess.PIPE, stderr=closed,
        )  # fmt: skip
    assert (done.returncode, "Applied" in done.stdout) == (0, True), done
    assert {"A", "B"} <= set(someone.ask(streams))


async def leave_a_lease(js: JetStream) -> None:
    gone = b'{"run":"gone","user":"ann"}'
    await js.put_entry("reconciler", lease_key("t"), gone, expected_revision=None, headers={"Nats-TTL": "1s"})


@pytest.mark.parametrize("prefix", ["a b", ">", "a..b", "*"])
def test_an_inbox_prefix_that_is_no_subject_is_said(someone: Someone, prefix: str) -> None:
    ran = someone("plan", someone.write(AB), "--inbox-prefix", prefix)
    assert (ran.code, ran.out) == (1, "")
    assert f"nbox prefix `{prefix}` is not a subject" in ran.err


def test_schemas_that_cannot_be_written_are_said(shell: Shell) -> None:
    ran = readable(shell("schema", "--write", shell.write("a file, not a folder")))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Cannot write topology.yaml: file exists.")
