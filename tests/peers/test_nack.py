"""A manifest of NACK becomes a file that finds nothing to change in what NACK's control loop has made of it.

The requests are those that NACK sends (its internal/controller, with jsm.go v0.3.0), by hand: NACK needs Kubernetes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.export.importing import import_files
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

YEAR = 24 * 365 * 3600 * 10**9
STREAM = "kind: Stream\nspec: {name: LST, subjects: [lst, other], storage: file, maxAge: 8760h}\n"
SENT_STREAM = {"name": "LST", "subjects": ["lst", "other"], "storage": "file", "max_age": YEAR, "num_replicas": 1}
CONSUMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing acknowledged": (
        "ackPolicy: none, filterSubjects: [lst], sampleFreq: '30'",
        {"ack_policy": "none", "ack_wait": 1, "filter_subject": "lst", "sample_freq": "30%"},
    ),
    "acknowledged": (
        "ackPolicy: explicit, filterSubjects: [lst, other], sampleFreq: '0'",
        {"ack_policy": "explicit", "ack_wait": 1, "filter_subjects": ["lst", "other"]},
    ),
    "backoff": (
        "ackPolicy: explicit, maxDeliver: 3, backoff: [10s, 1m]",
        {"ack_policy": "explicit", "ack_wait": 1, "max_deliver": 3, "backoff": [10 * 10**9, 60 * 10**9]},
    ),
    "no time to acknowledge": ("ackPolicy: all, ackWait: ''", {"ack_policy": "all", "ack_wait": 30 * 10**9}),
}


@on_every_version
@pytest.mark.parametrize("name", CONSUMERS)
def test_what_nack_made_is_as_its_manifest_is_read(account: Account, tmp_path: Path, name: str) -> None:
    spec, sent = CONSUMERS[name]
    head = "apiVersion: jetstream.nats.io/v1beta2\n"
    (tmp_path / "nack.yaml").write_text(
        f"{head}{STREAM}---\n{head}kind: Consumer\nspec: {{streamName: LST, durableName: c, {spec}}}\n"
    )
    file = import_files([tmp_path / "nack.yaml"])

    async def work(js: JetStream) -> dict[str, str]:
        done(await js.request("STREAM.CREATE.LST", SENT_STREAM))
        config = {"durable_name": "c", "name": "c", **sent}
        request = {"stream_name": "LST", "config": config, "action": "create"}
        subject = f".{sent['filter_subject']}" if "filter_subject" in sent else ""
        done(await js.request(f"CONSUMER.CREATE.LST.c{subject}", request))
        found = await plan(read(tmp_path, file.text.partition("topology: imported\n")[2]), js, RunOptions())
        return {str(change.address): str(change.action) for change in found.plan.changes}

    assert talk(account, work) == {"stream/LST": "adopt", "consumer/LST/c": "adopt"}
