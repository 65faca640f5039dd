"""The example about tidying up does what its comments say: what goes, what is renamed, what is let be."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.cli.running import EXAMPLES
from tests.e2e.here import somebody
from tests.support.accounts import Account
from tests.support.jetstream import done

BEFORE = (
    "reconciler: 1\ntopology: store\nkv_buckets: {DRAFTS: {}}\nstreams:\n"
    "  SALES: {subjects: [sales.>], consumers: {c1: {ack_policy: explicit}}}\n"
    + "".join(f"  TRIAL{n}: {{subjects: [trial.{n}]}}\n" for n in range(1, 8))
)


def test_the_example_tidies_up(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    assert someone("apply", someone.write(BEFORE), "--yes").code == 0
    ran = someone("apply", str(EXAMPLES / "cleanup.yaml"), "--yes")
    assert ran.code == 0, ran
    assert someone.ask(left) == (["KV_DRAFTS", "SALES"], ["billing"], ["shop"])
    assert someone.has_nothing_to_do(str(EXAMPLES / "cleanup.yaml"))


async def left(js: JetStream) -> tuple[list[str], list[str], list[str]]:
    """Streams, consumers of SALES, and the owners of anything."""
    names = [name for name in done(await js.request("STREAM.NAMES"))["streams"] if name != "KV_reconciler"]
    consumers = done(await js.request("CONSUMER.NAMES.SALES"))["consumers"]
    owners = {owned.topology for owned in remembered.read_memory(await observe(js), REGISTRY).records.values()}
    return sorted(names), consumers, sorted(owners)
