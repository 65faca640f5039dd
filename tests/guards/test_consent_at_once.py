"""`allow:` at the top level of the files: consent for many, by address or by label, with the terms of one at an object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account

NAMES = ("TENANT-a", "TENANT-b", "TENANT-c")


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def streams(more: str = "", **each: str) -> str:
    lines = (f"  {name}: {{subjects: [{name}]{each.get(name[-1], more)}}}\n" for name in NAMES)
    return f"streams:\n{''.join(lines)}"


def allowing(on: str, more: str = "") -> str:
    return f'allow:\n  - {{code: ST606, to: false, on: "{on}"{more}, reason: nobody sends them}}\n'


ROLLUPS = ", allow_rollup_hdrs: true"


def with_rollups(someone: Someone) -> Someone:
    someone.applied(streams(ROLLUPS))
    return someone


def test_one_line_is_consent_for_every_stream_that_fits(someone: Someone) -> None:
    ran = with_rollups(someone).apply(allowing("stream/TENANT-*") + streams())
    assert (ran.code, ran.out.count("ST606 kinds-of-publish-refused, consented (nobody sends them)")) == (0, 1)


def test_a_label_is_consent_for_what_carries_it_and_for_nothing_else(someone: Someone) -> None:
    labelled = streams(a=", labels: {team: ours}", b=", labels: {team: theirs}", c=", labels: {team: ours}")
    ran = with_rollups(someone).plan(allowing("team=ours") + labelled, "--format", "json")
    assert ran.code == 4, ran
    lacking = [one["address"] for one in json.loads(ran.out)["changes"] if not one["verdicts"][0].get("consented")]
    assert (ran.code, lacking) == (4, ["stream/TENANT-b"])


def test_what_does_not_fit_still_asks(someone: Someone) -> None:
    ran = with_rollups(someone).plan(allowing("stream/TENANT-a") + streams())
    assert (ran.code, "2 needs consent" in ran.out) == (4, True)


def test_consent_that_has_ended_covers_none_and_is_told_at_its_line(someone: Someone) -> None:
    ran = with_rollups(someone).plan(allowing("stream/TENANT-*", ", until: 2020-01-01") + streams())
    assert ran.code == 4
    assert "topology.yaml:4:5 warning XX301: consent to ST606 on stream/TENANT-* ended on 2020-01-01" in " ".join(
        ran.out.split()
    )


def test_several_that_lack_the_same_consent_are_offered_one_line(someone: Someone) -> None:
    ran = with_rollups(someone).plan(streams())
    line = next(line for line in ran.out.splitlines() if " on: " in line)
    assert line == '  allow: [{code: ST606, to: false, on: "stream/TENANT-*", reason: …}]'
    written = "  ".join(("allow:\n", "- " + line.strip().removeprefix("allow: [").removesuffix("]") + "\n"))
    assert someone.plan(written.replace("…", "nobody sends them") + streams()).code == 0


def test_it_also_covers_what_is_removed(someone: Someone) -> None:
    someone.applied(streams(", consumers: {c: {}}"))
    removed = "".join(f"- {{address: stream/{name}, reason: over}}\n" for name in NAMES)
    allowed = "allow: [{code: ST310, on: stream/TENANT-*, reason: their readers went first}]\n"
    said = f"{allowed}removed:\n{removed}streams: {{OTHER: {{subjects: [o]}}}}\n"
    assert someone.plan(said).code == 0


def test_a_saved_plan_keeps_it(someone: Someone) -> None:
    path = with_rollups(someone).write(allowing("stream/TENANT-*") + streams())
    saved = str(Path(path).parent / "plan.json")
    assert someone("plan", path, "--out", saved).code == 0
    assert someone("apply", saved, "--yes").code == 0
