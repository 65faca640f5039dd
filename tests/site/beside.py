"""What a case holds that its files do not say, in words: what somebody changed by hand, who owns what, what the server counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.kinds import REGISTRY
from reconciler.model.wire.version import SUPPORTED, Version
from tests.rules.examples import Example
from tests.site.markdown import as_code, as_pairs

Body = Mapping[str, Any]

OF_FILES = frozenset({"case", "live", "desired", "expect"})
OWN_NAMES = ("name", "durable_name")
"""What a configuration says of its object's name, which the words beside it say already."""


def beside(example: Example) -> Iterator[str]:
    """Each as a clause. Who owns what is live stands in its file, unless nobody does."""
    for name in sorted(example.case.keys() - OF_FILES, key=[*WORDS].index):
        yield from WORDS[name](example.case[name], example)


def _server(version: str, _example: Example) -> Iterator[str]:
    is_supported = Version.parse(version) >= SUPPORTED[0]
    yield f"the server is nats-server {version}{'' if is_supported else ', which is not supported any more'}"


def _cluster(name: str, _example: Example) -> Iterator[str]:
    yield f"the server is one of cluster {name}"


def _limits(limits: Body, _example: Example) -> Iterator[str]:
    yield f"the account has {as_pairs(limits)}"


def _usage(usage: Body, _example: Example) -> Iterator[str]:
    for tier, said in usage["tiers"].items():
        yield f"tier {tier} of the account has {as_pairs(said['limits'])}"


def _owner(topology: str | None, _example: Example) -> Iterator[str]:
    if topology is None:
        yield "no topology has applied the live objects"


def _applied_from(repository: str, _example: Example) -> Iterator[str]:
    yield f"the live objects were applied from {repository}"


def _planned_from(repository: str, _example: Example) -> Iterator[str]:
    yield f"this plan is made in {repository}"


def _records(records: Mapping[str, Body], example: Example) -> Iterator[str]:
    """The owners first, each with all that it owns."""
    owned: dict[str, list[str]] = {}
    there = {str(found.address) for kind in REGISTRY.kinds for found in kind.recognise(example.scene.snapshot)}
    for address, record in records.items():
        gone = "" if address in there else " (deleted since)"
        owned.setdefault(record.get("topology", example.plan.topology), []).append(f"`{address}`{gone}")
    for topology, addresses in owned.items():
        yield f"topology {topology} owns {' and '.join(addresses)}"
    for address, record in records.items():
        if said := {name: value for name, value in record.items() if name not in ("topology", "written")}:
            yield f"the record of `{address}` has {as_pairs(said)}"


def _raw(raw: Body, example: Example) -> Iterator[str]:
    """Pieces of answers: what they change about what was applied, and what they count."""
    for name, over in raw.get("streams", {}).items():
        yield from _over(f"stream `{name}`", example.applied.streams.get(name), over)
    for stream, consumers in raw.get("consumers", {}).items():
        there = example.applied.consumers.get(stream, {})
        for name, over in consumers.items():
            yield from _over(f"consumer `{stream}/{name}`", there.get(name), over)
    for bucket, entries in raw.get("entries", {}).items():
        for key, value in entries.items():
            held = "is gone" if value is None else f"holds {as_code(value)}"
            yield f"key `{key}` of bucket `{bucket}` {held}"
    if rest := raw.keys() - {"streams", "consumers", "entries"}:
        raise LookupError(f"{example.code}: no words for {rest} of raw answers")


def _over(what: str, applied: Body | None, over: Body | None) -> Iterator[str]:
    if over is None:
        yield f"somebody deleted {what} by hand"
        return
    by_hand = _by_hand(what, applied, over.get("config", {}))
    yield from by_hand
    told = {name: value for name, value in over.items() if name not in ("config", "state", "name")}
    if said := {**over.get("state", {}), **told}:
        yield f"the server says {as_pairs(said)} of {'it' if by_hand else what}"


def _by_hand(what: str, applied: Body | None, config: Body) -> list[str]:
    said = {name: value for name, value in config.items() if name not in OWN_NAMES}
    if applied is None:
        lasts = "" if what.startswith("stream") or "durable_name" in config else "ephemeral "
        return [f"somebody made {lasts}{what} by hand{f', with {as_pairs(said)}' if said else ''}"]
    return [f"somebody gave {what} {as_pairs(said)} by hand"] if said else []


def _facts(facts: Sequence[Body], example: Example) -> Iterator[str]:
    for fact in facts:
        yield _fact(fact, example)


def _fact(fact: Body, example: Example) -> str:
    answer, asked = fact["answer"], fact.keys() - {"answer"}
    about = f" on {as_code(fact['filter'])}" if fact.get("filter", ">") != ">" else ""
    if asked == {"peers"}:
        return f"the cluster has {len(answer['servers'])} servers"
    if "source" in asked:
        return f"stream `{fact['stream']}` holds {answer['gone']} messages that `{fact['source']}` does not"
    if "start" in asked:
        first = f", the first of them {answer['first']}" if answer["first"] != fact["start"] else ""
        return f"stream `{fact['stream']}` holds {answer['messages']} messages{about} from {fact['start']} on{first}"
    if asked <= {"stream", "filter"}:
        return f"stream `{fact['stream']}` holds so many messages by subject: {as_pairs(answer)}"
    raise LookupError(f"{example.code}: no words for an answer about {asked}")


WORDS: Mapping[str, Callable[[Any, Example], Iterator[str]]] = {
    "server": _server, "cluster": _cluster, "limits": _limits, "usage": _usage, "owner": _owner,
    "owner_source": _applied_from, "source": _planned_from, "records": _records, "raw": _raw, "facts": _facts,
}  # fmt: skip
"""By the key of a case. A key without words fails, since nothing may go unsaid; the most general first."""
