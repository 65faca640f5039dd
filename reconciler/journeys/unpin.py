"""Ends the pin of a consumer's client, so that another client that pulls is served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.documents.parse.nodes import did_you_mean
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.wire.answers import NO_CONSUMER, NO_STREAM, Refusal
from reconciler.server.wire.api import JetStream

PINNED = "pinned_client"
LOOK = "Look at it with `nats consumer info`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpinned:
    """The client whose pin was ended."""

    consumer: str
    groups: tuple[str, ...]
    """The priority groups. Servers keep one pin for all of them, and report it with the first."""
    client: str | None
    """None: no client was pinned, and the server was not asked to unpin one."""


async def unpin(js: JetStream, wanted: str) -> Unpinned:
    """End the pin of the consumer `wanted`, written STREAM/CONSUMER. Raises CannotContinue where no client can be
    pinned."""
    stream, _, consumer = wanted.partition("/")
    info = await _consumer_info(js, stream, consumer)
    groups, client = _group_names(wanted, info.get("config") or {}), _pinned_client_id(info)
    if client:
        answer = await js.write(f"CONSUMER.UNPIN.{stream}.{consumer}", {"group": groups[0]})
        if not isinstance(answer, Mapping):
            raise _pin_error(f"{wanted}: the server did not unpin client {client}: {answer}.", LOOK)
    return Unpinned(consumer=wanted, groups=groups, client=client)


async def _consumer_info(js: JetStream, stream: str, consumer: str) -> Mapping[str, Any]:
    answer = await js.read(f"CONSUMER.INFO.{stream}.{consumer}")
    if isinstance(answer, Mapping):
        return answer
    if isinstance(answer, Refusal) and answer.err_code == NO_STREAM:
        names = await _listed_names(js, "STREAM.NAMES", "streams")
        raise _pin_error(f"There is no stream {stream}{_did_you_mean_text(stream, names)}", "Name an existing stream.")
    if isinstance(answer, Refusal) and answer.err_code == NO_CONSUMER:
        names = await _listed_names(js, f"CONSUMER.NAMES.{stream}", "consumers")
        message = f"Stream {stream} has no consumer {consumer}{_did_you_mean_text(consumer, names)}"
        raise _pin_error(message, "Name an existing consumer.")
    raise _pin_error(
        f"{stream}/{consumer} could not be read: {answer}.", "Try again, or as a user who may read the consumer."
    )


def _did_you_mean_text(word: str, choices: Sequence[str]) -> str:
    return did_you_mean(word, choices) or "."


async def _listed_names(js: JetStream, endpoint: str, key: str) -> list[str]:
    """The names on the first page, to guess what was meant; none where they cannot be read."""
    answer = await js.read(endpoint)
    return list(answer.get(key) or ()) if isinstance(answer, Mapping) else []


def _group_names(wanted: str, config: Mapping[str, Any]) -> tuple[str, ...]:
    policy = config.get("priority_policy") or "none"
    if policy != PINNED:
        raise _pin_error(
            f"{wanted} never pins a client: its priority_policy is {policy}.", f"Only {PINNED} pins a client."
        )
    return tuple(config["priority_groups"])


def _pinned_client_id(info: Mapping[str, Any]) -> str | None:
    clients = (group.get("pinned_client_id") for group in info.get("priority_groups") or ())
    return next(filter(None, clients), None)


def _pin_error(message: str, fix: str) -> CannotContinue:
    return CannotContinue.because("GR196", "not-unpinned", message, fix=fix)
