"""What was accepted and then applied is ours: whatever is edited later, in the file or by hand, was changed on one side."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from reconciler.kinds import REGISTRY
from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran
from tests.drift.test_accept import consumer
from tests.e2e.someone import Someone
from tests.support.jetstream import done

DAY = 86_400_000_000_000
Deed = Callable[[JetStream], Awaitable[Any]]


class Edits(NamedTuple):
    """Of one setting: as it was applied, changed by hand and accepted, and then changed once more on either side."""

    applied: str
    by_hand: Deed
    accepted: tuple[str, str]
    in_the_file: tuple[str, str]
    by_hand_later: Deed
    after: str = ""
    """What follows the setting in the file."""


def members(bucket: str, *names: str) -> Deed:
    """As an operator's tool writes a group's record."""

    async def deed(js: JetStream) -> None:
        subject = {"last_by_subj": f"$KV.{bucket}.S.g"}
        said = done(await js.request(f"STREAM.MSG.GET.KV_{bucket}", subject))["message"]["data"]
        record = json.dumps({**json.loads(base64.b64decode(said)), "members": list(names)}).encode()
        await js.put_entry(bucket, "S.g", record, expected_revision=None)

    return deed


def updated(stream: str, **fields: Any) -> Deed:
    async def deed(js: JetStream) -> None:
        config = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
        done(await js.request(f"STREAM.UPDATE.{stream}", {**config, **fields}))

    return deed


STATIC, ELASTIC = "static-consumer-groups", "elastic-consumer-groups"
GROUP = "streams: {S: {subjects: [s.*], groups: {g: {"
EDITS = {
    "stream": Edits(
        "streams: {S: {subjects: [s.*], max_age: 7d", updated("S", max_age=3 * DAY), ("max_age: 7d", "max_age: 3d"),
        ("max_age: 3d", "max_age: 4d"), updated("S", max_age=2 * DAY), "}}",
    ),
    "consumer": Edits(
        "streams: {S: {consumers: {c: {ack_policy: explicit, max_ack_pending: 500", consumer("c", max_ack_pending=5),
        ("max_ack_pending: 500", "max_ack_pending: 5"), ("max_ack_pending: 5", "max_ack_pending: 7"),
        consumer("c", max_ack_pending=6), "}}}}",
    ),
    "kv_bucket": Edits(
        "kv_buckets: {B: {history: 5", updated("KV_B", max_msgs_per_subject=7), ("history: 5", "history: 7"),
        ("history: 7", "history: 9"), updated("KV_B", max_msgs_per_subject=8), "}}",
    ),
    "object_store": Edits(
        "object_stores: {O: {ttl: 7d", updated("OBJ_O", max_age=3 * DAY), ("ttl: 7d", "ttl: 3d"), ("ttl: 3d", "ttl: 4d"),
        updated("OBJ_O", max_age=2 * DAY), "}}",
    ),
    "static_group": Edits(
        f"{GROUP}type: static, max_members: 4, members: [a, b]", members(STATIC, "a"), ("[a, b]", "[a]"), ("[a]", "[a, d]"),
        members(STATIC, "a", "c"), "}}}}",
    ),
    "elastic_group": Edits(
        f"{GROUP}type: elastic, max_members: 4, partitioning_filters: [{{filter: s.*, partitioning_wildcards: [1]}}], members: [a, b]",
        members(ELASTIC, "a"), ("[a, b]", "[a]"), ("[a]", "[a, d]"), members(ELASTIC, "a", "c"), "}}}}",
    ),
}  # fmt: skip


def test_every_kind_is_edited() -> None:
    assert set(EDITS) == set(REGISTRY.by_name)


@pytest.mark.parametrize("kind", EDITS)
def test_a_later_edit_was_made_on_one_side(someone: Someone, kind: str) -> None:
    edits = EDITS[kind]
    text = f"{edits.applied}{edits.after}\n"
    someone.applied(text)
    someone.ask(edits.by_hand)
    accepting = someone("drift", "accept", someone.write(text))
    accepted = text.replace(*edits.accepted)
    assert (someone.shell.folder / "topology.yaml").read_text().endswith(accepted), accepting
    someone.applied(accepted)
    assert "no drift" in someone("drift", someone.write(accepted)).out

    file = someone.write(accepted.replace(*edits.in_the_file))
    assert said(someone("plan", file)) == "here"
    assert drifts(someone("drift", file)) == (0, "waiting")

    someone.ask(edits.by_hand_later)
    assert said(someone("plan", file)) == "here and outside"
    assert drifts(someone("drift", file)) == (3, "changed on both sides")
    file = someone.write(accepted)
    assert said(someone("plan", file)) == "outside"
    assert drifts(someone("drift", file)) == (3, "changed outside")


def said(plan: Ran) -> str:
    """On which side what is pending was changed; that the file alone was changed needs no words."""
    words = " ".join(plan.out.split())
    if "nothing to do" in words:
        return "nowhere"
    return next((edit for edit in ("here and outside", "outside") if f" changed {edit} since" in words), "here")


def drifts(drift: Ran) -> tuple[int, str]:
    words = " ".join(drift.out.split())
    outside = "changed outside" if "changed outside" in words else "waiting" if "pending: the file" in words else "none"
    return drift.code, "changed on both sides" if "; the file now says" in words else outside
