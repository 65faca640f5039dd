"""What is done for each of many objects costs no more where there are more of them."""

from __future__ import annotations

import time
from pathlib import Path

from reconciler.documents.write.formatter import in_form
from reconciler.documents.write.order import document_order
from reconciler.kinds import REGISTRY
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version
from reconciler.testbed.imagined import HeldObjects
from tests.support.topologies import scene

FEW, MORE = 1_000, 16


def seconds(entries: int) -> float:
    held = HeldObjects(Snapshot(target=Target(version=Version(2, 15))))
    began = time.process_time()
    for number in range(entries):
        held.put_entry("reconciler", f"owned.stream.S{number}", b"{}")
    assert held.snapshot().entries["reconciler"][f"owned.stream.S{entries - 1}"].revision == entries
    return time.process_time() - began


def test_an_imagined_record_is_written_as_fast_among_many() -> None:
    """Sixteen times as many took 256 times as long."""
    assert min(seconds(FEW * MORE) for _ in range(3)) < 5 * MORE * max(min(seconds(FEW) for _ in range(3)), 1e-4)


def seconds_into_form(streams: int) -> float:
    stream = "  S{n}: # what for\n   max_age: 7d\n   # of orders\n   subjects: [s{n}]\n   description: |\n     x\n"
    text = "reconciler: 1\ntopology: t\nstreams:\n" + "".join(stream.replace("{n}", str(n)) for n in range(streams))
    order = document_order(REGISTRY)
    began = time.process_time()
    after, problems = in_form("t.yaml", text, order)
    assert (problems, after.count("\n")) == ([], text.count("\n"))
    return time.process_time() - began


def test_a_line_of_a_long_file_is_put_into_form_as_fast_as_one_of_a_short_one() -> None:
    """Ten thousand lines took ten seconds while each looked through the tokens of all."""
    assert min(seconds_into_form(FEW * MORE // 8) for _ in range(2)) < 5 * MORE * min(
        seconds_into_form(FEW // 8) for _ in range(2)
    )


def seconds_to_plan(streams: int, folder: Path) -> float:
    """To plan that one entry removes so many streams, with a consumer each."""
    old = "".join(f"  OLD_{n}: {{subjects: [o.{n}], consumers: {{c: {{}}}}}}\n" for n in range(streams))
    wanted = f"streams: {{KEPT: {{}}}}\nguards: [{{kind: stream, upto: {streams}, reason: r}}]\n"
    wanted += f"removed: [{{on: '*/OLD_*', upto: {2 * streams}, reason: r}}]\n"
    going = scene(folder, wanted, f"streams:\n  KEPT: {{}}\n{old}")
    best = 60.0
    for _ in range(2):
        began = time.process_time()
        assert len(going.plan().steps) == streams
        best = min(best, time.process_time() - began)
    return best


def test_an_object_that_goes_by_a_pattern_is_judged_as_fast_among_many(tmp_path: Path) -> None:
    """Each stream looked through the changes of all others for its consumers: sixteen times as many took seventy times as
    long."""
    assert seconds_to_plan(FEW * 4, tmp_path / "more") < 45 * seconds_to_plan(FEW // 4, tmp_path / "few")
