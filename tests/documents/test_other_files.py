"""A file of something else is one error, which says what it is and what reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.documents.fill.values import Filled
from reconciler.documents.find.discover import discover
from reconciler.documents.parse.files import DISK
from reconciler.journeys.plan.files import load, read_topology
from reconciler.journeys.plan.validate import checked_each
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue

NACK = """\
apiVersion: jetstream.nats.io/v1beta2
kind: Stream
metadata: {name: orders}
spec: {name: orders, subjects: [orders.>]}
"""
FILES = {
    "fleet": (
        "reconciler: 1\nfleet: accounts\ntargets: {eu: {context: eu}}\n",
        "this is a fleet file: it names accounts, while a topology says what one of them holds",
        "reconciler fleet plan {file}",
    ),
    "saved plan": (
        '{"format": 1, "topology": "t", "changes": [], "steps": [], "fingerprint": "sha256:0"}',
        "this is a saved plan, not a topology",
        "reconciler apply {file}",
    ),
    "NACK": (NACK, "this is a manifest of NACK, not a topology", "reconciler import {file}"),
    "several of NACK": (f"{NACK}---\n{NACK}", "this is a manifest of NACK, not a topology", "reconciler import {file}"),
    "list of NACK": (
        f"apiVersion: v1\nkind: List\nitems:\n- {NACK.replace(chr(10), chr(10) + '  ')}",
        "this is a manifest of NACK, not a topology",
        "reconciler import {file}",
    ),
    "Terraform": (
        '{"version": 4, "terraform_version": "1.9.0", "serial": 3, "resources": []}',
        "this is a Terraform state, not a topology",
        "reconciler import {file}",
    ),
    "stream info": (
        '{"config": {"name": "ORDERS", "subjects": ["orders.>"]}, "created": "2026-01-01T00:00:00Z", "state": {}}',
        "this is the `nats` CLI's description of a stream or consumer, not a topology",
        "reconciler import {file}",
    ),
    "consumer infos": (
        '[{"stream_name": "ORDERS", "name": "c", "config": {"durable_name": "c", "ack_policy": "explicit"}}]',
        "this is the `nats` CLI's description of a stream or consumer, not a topology",
        "reconciler import {file}",
    ),
    "stream configuration": (
        '{"name": "ORDERS", "subjects": ["orders.>"], "retention": "limits"}',
        "this is a stream's configuration for the `nats` CLI, not a topology",
        "reconciler import {file}",
    ),
    "Kubernetes": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
        "this is a Kubernetes manifest (kind Deployment), not a topology",
        "",
    ),
    "Docker Compose": (
        "services:\n  web:\n    image: nginx:${TAG}\n",
        "this is a file for Docker Compose, not a topology",
        "",
    ),
    "GitHub": (
        "name: CI\non: push\njobs: {test: {runs-on: ubuntu-latest}}\n",
        "this is a GitHub workflow, not a topology",
        "",
    ),
    "something": (
        "colour: red\nsize: 3\nheight: 5\nweight: 7\n",
        "this is a file with `colour`, `size` and `height` and others, not a topology",
        "",
    ),
}  # fmt: skip
APART = "keep it out of the topology's folder, or name the files to read"


@pytest.mark.parametrize(("text", "message", "fix"), FILES.values(), ids=FILES)
def test_it_is_called_what_it_is_with_what_reads_it(text: str, message: str, fix: str, tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text)
    wanted = [("XX524", message, fix.format(file=file) or APART)]
    assert [
        (one.code, one.message, one.fix) for loaded in checked_each([file]).each for one in loaded.diagnostics
    ] == wanted
    with pytest.raises(CannotContinue) as raised:
        read_topology([file], Filled(DISK, {"unused": "value"}, needed=["unused"]))
    assert [(one.code, one.message, one.fix) for one in raised.value.diagnostics] == wanted
    found = discover([file], DISK, REGISTRY)
    assert [(one.code, one.message) for one in found.strange[file]] == [("XX524", message)]


@pytest.mark.parametrize(("text", "message", "fix"), FILES.values(), ids=FILES)
def test_beside_a_topology_it_is_the_only_error(text: str, message: str, fix: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s]}}\n")
    (tmp_path / "b.yaml").write_text(text)
    wanted = fix.format(file=tmp_path / "b.yaml") or APART
    assert [(one.code, one.message, one.fix) for one in load([tmp_path]).diagnostics] == [("XX524", message, wanted)]


@pytest.mark.parametrize(("text", "message", "fix"), FILES.values(), ids=FILES)
def test_among_several_topologies_it_is_the_only_error(text: str, message: str, fix: str, tmp_path: Path) -> None:
    for name in ("orders", "billing"):
        (tmp_path / f"{name}.yaml").write_text(f"reconciler: 1\ntopology: {name}\nstreams: {{}}\n")
    (tmp_path / "z.yaml").write_text(text)
    wanted = fix.format(file=tmp_path / "z.yaml") or APART
    assert [(one.code, one.message, one.fix) for one in load([tmp_path]).diagnostics] == [("XX524", message, wanted)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param("topology: t\nservices: {}\n", ["XX501", "XX503"], id="one key of ours"),
        pytest.param("stream: {}\n", ["XX501", "XX503", "XX503"], id="a slip of one of ours"),
        pytest.param("reconciler: 1\n", ["XX503"], id="nothing but the version"),
        pytest.param("- a\n- b\n", ["XX504"], id="a list"),
    ],
)
def test_a_file_with_a_key_of_ours_is_read_as_ours(text: str, codes: list[str], tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(text)
    assert sorted(one.code for one in load([file]).diagnostics) == codes
