"""`reconciler groups migrate` as somebody runs it: records of earlier versions are written anew, explained and by consent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.groups.migrate import migrate, migrations
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.groups import making
from tests.support.accounts import Account
from tests.support.contracts import followed
from tests.support.jetstream import done, make_bucket, make_stream
from tests.support.versions import on_every_version

V1 = '{"max_members":4,"filter":"j.*","partitioning_wildcards":[1],"max_buffered_msg":-1,"members":["b","a"]}'
TODAY = '{"max_members":4,"partitioning_filters":[{"filter":"j.*","partitioning_wildcards":[1]}],"members":["b","a"]}'
LEGACY = {
    "the first versions": V1,
    "the design document": V1.replace("partitioning_w", "partitioning-w"),
    "wildcards that are not those of the stream": V1.replace("[1]", "[2]"),
    "old keys that a change of members dropped": '{"max_members":4,"partitioning_filters":null,"members":["b","a"]}',
}
DECLARED = """streams:
  S:
    subjects: [j.*]
    groups:
      g: {type: elastic, max_members: 4, members: [a, b], partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]}
"""


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


async def stopped(js: JetStream, record: str = V1) -> None:
    """A group of which no instance runs."""
    await make_stream(js, "S", subjects=["j.*"])
    await make_bucket(js, "elastic-consumer-groups")
    await making.put(js, record)
    await make_stream(js, "S-g", **making.queue())


async def static(js: JetStream) -> None:
    await making.static(js)
    await making.put(js, '{"max_members":4,"filter":"j.>","members":["a","b"]}', "static")


def stored(someone: Someone) -> tuple[str, int]:
    (group,) = json.loads(someone("groups", "show", "S/g", "--format", "json").out)["groups"]
    return json.dumps(group["record"], separators=(",", ":")), group["revision"]


@on_every_version
@pytest.mark.parametrize("record", LEGACY)
def test_the_filters_are_recovered_from_the_stream_that_divides_by_them(someone: Someone, record: str) -> None:
    someone.ask(lambda js: stopped(js, LEGACY[record]))
    ran = someone("groups", "migrate", "S/g", "--yes")
    assert ran.code == 0, ran
    assert stored(someone) == (TODAY, 2)
    path = someone.write(DECLARED)
    assert someone("apply", path, "--yes").code == 0
    assert someone.has_nothing_to_do(path)


def test_before_and_after_and_what_it_means_are_shown_first(someone: Someone) -> None:
    someone.ask(stopped)
    ran = someone("groups", "migrate")
    assert ran.code == 64, "a question that nobody can answer is wrong usage, as for its siblings"
    said = " ".join(ran.out.split())
    assert f"before {V1}" in said
    assert f"after {TODAY}" in said
    assert "As soon as the record changes, every running instance ends with an error" in said
    assert "Nothing was changed" in ran.err
    assert stored(someone) == (V1, 1)


def test_what_nobody_knows_is_kept(someone: Someone) -> None:
    someone.ask(lambda js: stopped(js, V1[:-1] + ',"their_own":{"x":null}}'))
    assert someone("groups", "migrate", "--yes").code == 0
    assert stored(someone)[0] == TODAY[:-1] + ',"their_own":{"x":null}}'


def test_records_of_today_are_left_alone(someone: Someone) -> None:
    someone.ask(making.elastic)
    ran = someone("groups", "migrate", "--yes")
    assert (ran.code, ran.out) == (0, "no record to migrate\n")


def test_while_instances_run_it_is_refused_unless_told_so(someone: Someone) -> None:
    async def running(js: JetStream) -> None:
        await making.elastic(js)
        await making.put(js, V1)

    someone.ask(running)
    ran = someone("groups", "migrate", "--yes")
    assert ran.code == 4
    assert "instances seem to run: 2 consumers (a, b)" in " ".join(ran.out.lower().split())
    assert stored(someone) == (V1, 2)
    assert someone("groups", "migrate", "--yes", "--while-running").code == 0
    assert stored(someone) == (TODAY, 3)


def test_a_static_filter_goes_because_nobody_ever_applied_it(someone: Someone) -> None:
    someone.ask(static)
    ran = someone("groups", "migrate", "--yes", "--while-running")
    assert ran.code == 0, ran
    assert "no version ever applied it" in " ".join(ran.out.split())
    assert stored(someone)[0] == '{"max_members":4,"members":["a","b"]}'


def test_a_stream_that_divides_as_no_record_says_is_left_to_a_person(someone: Someone) -> None:
    async def another(js: JetStream) -> None:
        await stopped(js)
        done(await js.request("STREAM.UPDATE.S-g", {"name": "S-g", **making.queue(sources=[making.source(5)])}))

    someone.ask(another)
    ran = someone("groups", "migrate", "--yes")
    assert ran.code == 4
    assert "divides messages in a way that no record" in " ".join(ran.out.split())


def test_a_record_written_meanwhile_is_not_overwritten(someone: Someone) -> None:
    async def raced(js: JetStream) -> str | None:
        await stopped(js)
        (one,) = await migrations(js, (), while_running=False)
        await making.put(js, V1.replace('"a"', '"z"'))
        return await migrate(js, one)

    assert "expected revision 1" in str(someone.ask(raced))
    assert '"z"' in stored(someone)[0]


def test_tools_get_what_would_be_written(someone: Someone) -> None:
    someone.ask(stopped)
    ran = someone("groups", "migrate", "--format", "json")
    assert followed("groups", ran.out, "migrate")
    told: dict[str, Any] = json.loads(ran.out)
    assert [(one["address"], one["after"]) for one in told["records"]] == [("elastic_group/S/g", TODAY)]
