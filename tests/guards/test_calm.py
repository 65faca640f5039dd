"""More room, more time, words and labels, on every kind and in use: a plan says nothing but what changes, and asks for nothing."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.server.wire.api import JetStream
from tests.agreement.harm import publish
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.kinds.test_effects import CHANGES, harmless
from tests.support.accounts import Account

ELSEWHERE = ("num_replicas", "placement")
"""For a cluster."""
SUBJECTS = {"streams": "s{}.a", "kv_buckets": "$KV.S{}.key", "object_stores": "$O.S{}.C.chunk"}


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def at_home(said: Any) -> Any:
    if isinstance(said, dict):
        return {key: at_home(value) for key, value in said.items() if key not in ELSEWHERE}
    return said


DRAWN = [tuple(map(at_home, one)) for one in harmless(7)][: len(CHANGES)]


def text(side: int) -> str:
    file: dict[str, Any] = {}
    for one in DRAWN:
        file.setdefault(one[0], {})[one[1]] = one[side]
    written = StringIO()
    YAML().dump(file, written)
    return written.getvalue()


async def used(js: JetStream) -> None:
    """Something is stored everywhere, and nobody has read it."""
    for turn, one in enumerate(DRAWN):
        await publish(js, *[SUBJECTS[one[0]].format(turn)] * 3)


def test_harmless_changes_of_everything_are_no_verdicts_on_a_real_server(someone: Someone) -> None:
    someone.applied(text(2))
    someone.ask(used)
    ran = someone.plan(text(3), "--format", "json")
    changes = json.loads(ran.out)["changes"]
    said = [(one["address"], verdict["code"]) for one in changes for verdict in one["verdicts"]]
    assert (ran.code, said) == (0, [])
    assert sum(one["action"] == "update" for one in changes) > len(CHANGES) / 2
    assert someone.apply(text(3)).code == 0
