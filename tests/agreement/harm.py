"""What the tests of harms share: short ways to publish, count and pull, and the mark that says which rules a test is for."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.agreement.data import of_code
from tests.support.accounts import Account
from tests.support.jetstream import done
from tests.support.servers import NatsServer
from tests.support.topologies import read

ROOT = Path(__file__).parents[2]
RECORDED = "RECONCILER_MEASURED"
"""Names a file, where `make measured` runs the tests: what they see is written there, instead of being compared."""
SHOWN: dict[str, set[str]] = {}
"""Rule code → the tests that show its harm, as pytest calls them."""


class Harm(NamedTuple):
    """What a test saw a server do, in a sentence that holds the numbers it saw."""

    codes: tuple[str, ...]
    minor: str
    words: str


def shows(*codes: str) -> Callable[[Callable[..., str]], Callable[..., None]]:
    """This test shows on a real server what these rules protect from, and answers with what it saw. The pages of these rules
    say just that (`make measured`)."""

    def mark(test: Callable[..., str]) -> Callable[..., None]:
        for code in codes:
            SHOWN.setdefault(code, set()).add(f"{Path(test.__code__.co_filename).relative_to(ROOT)}::{test.__name__}")

        @functools.wraps(test)
        def run(**arguments: Any) -> None:
            _judged(Harm(codes, _minor(**arguments), test(**arguments)))

        return run

    return mark


def _judged(harm: Harm) -> None:
    if file := os.environ.get(RECORDED):
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(harm) + "\n")
    else:
        assert harm.words in written(harm), f"`make measured` writes down what was seen: {harm.words}"


def _minor(
    account: Account | None = None,
    clustered_account: Account | None = None,
    minor: str | None = None,
    **_others: object,
) -> str:
    its_account = account or clustered_account
    found = minor or (its_account and its_account.minor)
    assert found, "say by a parameter on which version this is shown"
    return found


def written(harm: Harm) -> set[str]:
    """What the pages say that this version does, where they say it for every one of the codes."""
    return set[str].intersection(*({*of_code(code).get("harms", {}).get(harm.minor, ())} for code in harm.codes))


@dataclass(frozen=True, slots=True)
class Alone:
    """A server of one test's own, to be restarted."""

    server: NatsServer

    async def connect(self) -> Client:
        return await nats.connect(self.server.url, allow_reconnect=False)


async def publish(js: JetStream, *subjects: str) -> int:
    """The sequence of the last one; every message must be stored."""
    sequence = 0
    for subject in subjects:
        reply = await js.pipeline.request(subject, b"x", within=20)
        sequence = json.loads(reply.data)["seq"]  # type: ignore[union-attr]
    return sequence


async def count(js: JetStream, stream: str) -> int:
    return int(done(await js.read(f"STREAM.INFO.{stream}"))["state"]["messages"])


async def change(js: JetStream, stream: str, **fields: Any) -> Mapping[str, Any]:
    """The stream's live configuration with these fields otherwise; the server must take it."""
    config = dict(done(await js.read(f"STREAM.INFO.{stream}"))["config"])
    config |= fields
    body = {name: value for name, value in config.items() if value is not None}
    return done(await js.write(f"STREAM.UPDATE.{stream}", body))


async def change_consumer(js: JetStream, stream: str, name: str, **fields: Any) -> Mapping[str, Any]:
    config = {**done(await js.read(f"CONSUMER.INFO.{stream}.{name}"))["config"], **fields}
    body = {name: value for name, value in config.items() if value is not None}
    request = {"stream_name": stream, "action": "update", "config": body}
    return done(await js.write(f"CONSUMER.CREATE.{stream}.{name}", request))


async def refused(js: JetStream, endpoint: str, body: Mapping[str, Any]) -> int:
    """The err_code of what must be refused."""
    said = await js.write(endpoint, body)
    assert isinstance(said, Refusal), said
    return said.err_code


async def is_there(js: JetStream, endpoint: str) -> bool:
    return not isinstance(await js.read(endpoint), Refusal)


async def gone(js: JetStream, endpoint: str, within: float = 60) -> bool:
    """Whether INFO is refused in time: servers remove idle consumers without saying so to us."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while await is_there(js, endpoint):
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.1)
    return True


async def pull(nc: Client, stream: str, consumer: str, *, within: float = 20, **options: Any) -> Msg | None:
    """One message, or what the server says instead; None when it says nothing in time. Where nothing is to come, a second
    is enough."""
    inbox = nc.new_inbox()
    answers = await nc.subscribe(inbox)
    body = {"batch": 1, "expires": int(within * 1e9), **options}
    await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", json.dumps(body).encode(), reply=inbox)
    try:
        return await answers.next_msg(timeout=within + 1)
    except TimeoutError:
        return None
    finally:
        await answers.unsubscribe()


async def reaches(number: int, js: JetStream, stream: str, within: float = 60) -> int:
    """How many messages the stream holds once there are so many, or when nobody believes in it any more."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while True:
        held = await count(js, stream)
        if held >= number or loop.time() > deadline:
            return held
        await asyncio.sleep(0.05)


async def carried_out(js: JetStream, folder: Path, text: str, *allow: str) -> None:
    """Planned and applied by us, with consent to these rules."""
    options = RunOptions(allow=tuple((code, "*") for code in allow))
    made = await plan(read(folder, text), js, options)
    assert not made.plan.blocked, made.plan.blocked
    finished = [event async for event in apply(made, js) if isinstance(event, Finished)]
    assert not finished[0].failed, finished[0].failed


def as_text(fields: Mapping[str, Any]) -> str:
    """`max_msgs: 1, sources: [{name: Q}]`, as a file says it."""
    return ", ".join(f"{name}: {_value(value)}" for name, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{as_text(value)}}}"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list) else str(value)


def status(message: Msg | None) -> str:
    """`200` for a message."""
    return "nothing" if message is None else (message.headers or {}).get("Status", "200")
