"""What servers do to what they find in their stores: some a restart refuses, some another version rewrites.

Measured by starting each version on stores that another version left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.change import Change
from reconciler.changes.rule import Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.actions import STANDING
from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.fields.words import size, some
from reconciler.kinds.stream_config.config_checks import ConfigCheck, OwnName, Sent
from reconciler.kinds.stream_config.stream_config import canonical
from reconciler.kinds.stream_config.stream_settle import DUPLICATE_WINDOW, LIMITS
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version, unsupported_version_sentence

FOR_LIFE = frozenset({"sealed", "allow_msg_counter"})
"""No update removes these."""
COPY = "create a second stream that sources this one, and read from that once it has everything"


def doomed_live_rule(family: str, checks: Sequence[ConfigCheck], own: OwnName = lambda name: name) -> Rule:
    """Make rule 320 of a family of kinds: the checks that servers make at every start, applied to what is live."""
    refusing = [check for check in checks if check.err_codes]

    def judge(change: Change, view: View) -> Iterator[Finding]:
        """A live stream has a configuration that this server refuses when it starts, or that the next version refuses.

        Servers check updates less strictly than what they find in their store. The server accepted an update, and at its next
        restart or upgrade it loses the stream with everything in it. That needs no further change, so every plan says it.

        Instead: write the configuration that the message asks for and apply it before any server restarts.
        """
        if change.live is None:
            return
        config = change.live.config if family == "ST" else canonical(change.live.state["config"])
        as_it_is = Sent(config=config, target=view.target, is_new=False, own=own)
        for check in refusing:
            for finding in check.check(as_it_is):
                if finding.outcome is Outcome.REFUSED and finding.reaction in (None, Reaction.REFUSES, Reaction.DOOMS):
                    yield _restart_loss_finding(finding, change.live.state)

    rules = rule(f"{family}320", "doomed-live", on=STANDING, needs=("live",), reaction=Reaction.DOOMS)
    return rules(judge)


def _restart_loss_finding(finding: Finding, info: Json) -> Finding:
    """The finding of the check, with what is lost and how urgent it is."""
    state = info.get("state", {})
    messages = state.get("messages", 0)
    lost = (
        f"this stream and its {some(messages, 'message')} ({size(state.get('bytes', 0))})"
        if messages
        else "this empty stream"
    )
    when = "upgrade" if "next version" in finding.message else "restart"
    return Finding(
        outcome=Outcome.WARNS,
        path=finding.path,
        message=f"the server will lose {lost} at its next {when}: {finding.message}",
        fix=f"before any server restarts: {COPY if finding.path in FOR_LIFE else finding.fix}",
        quantities={"messages": state.get("messages", 0), "bytes": state.get("bytes", 0)},
    )


OF_ROOM = frozenset({10005, 10026, 10027, 10028, 10047, 10113, 10120, 10122})
"""err_codes about room, not about a configuration: a server opens an existing store all the same."""

CAP, CAPPED_SINCE = 1000, Version(2, 15)
"""Consumers of a stream that sets no limit, unless the server's `default_max_consumers` says otherwise; no answer of the
API shows it."""


class Rewrite(NamedTuple):
    path: str
    before: Json
    after: Json


def rewrites(kind: str, raw: Config, version: Version) -> Iterator[Rewrite]:
    """Fields whose stored value such a server replaces when it starts; `raw` as 2.11 kept it."""
    if version >= V2_12:
        yield from _rewrites_of_negatives(_STREAM if kind == "stream" else _CONSUMER, raw)
    if (
        version < V2_14
        and kind == "stream"
        and raw.get("sources")
        and not (raw.get("duplicate_window") or raw.get("mirror"))
    ):
        yield Rewrite("duplicate_window", None, min(raw.get("max_age") or DUPLICATE_WINDOW, DUPLICATE_WINDOW))
    if kind == "stream" and raw.get("sealed") and any(raw.get(name) for name in FORCING):
        yield from (
            Rewrite(path, raw[path], after) for path, after in _UNSEALED.items() if raw.get(path, after) != after
        )


def _rewrites_of_negatives(becomes: Mapping[str, Json], raw: Config) -> Iterator[Rewrite]:
    for path, after in becomes.items():
        value = raw.get(path)
        if isinstance(value, int) and value < (-1 if after == -1 else 0):
            yield Rewrite(path, value, after)


FORCING = ("subject_delete_marker_ttl", "allow_msg_schedules")
"""These turn roll-ups on and `deny_purge` off whenever the server reads the configuration, even that of a sealed
stream. Sealing does the opposite, so such a stream contradicts itself until a restart reverses both."""
_UNSEALED = {"deny_purge": False, "allow_rollup_hdrs": True}
_STREAM = dict.fromkeys(LIMITS, -1)
_CONSUMER = {
    "max_deliver": -1, "max_ack_pending": -1, "idle_heartbeat": None, "inactive_threshold": None, "max_bytes": None,
    "max_batch": None, "priority_timeout": 120_000_000_000,
}  # fmt: skip


def why_capped(raw: Config, consumers: int, target: Target) -> str | None:
    """The reason why no further consumer can be created on a stream that has this many; existing ones stay."""
    named = max(raw.get("max_consumers", -1), target.limits.get("max_consumers", -1))
    if target.version < CAPPED_SINCE or named > 0 or consumers < CAP:
        return None
    return (
        f"it has {some(consumers, 'consumer')}, and from {CAPPED_SINCE.short} on a stream without max_consumers accepts no more than "
        f"{CAP:_}"
    )


SHOWN = 5


class News(NamedTuple):
    """What applications will notice."""

    since: Version
    words: str


NEWS = (
    News(V2_12, "The server refuses requests with a field that it does not know (10025); 2.11 answered ok and dropped the field."),
    News(V2_12, "Removing `mirror` promotes a mirror, which cannot be undone."),
    News(Version(2, 12, 5), "max_consumers of a stream may change."),
    News(Version(2, 14), "A single server refuses num_replicas above 1; before, it accepted an update and lost the stream at its "
         "next start."),
    News(Version(2, 14), "A first max_msgs_per_subject trims at once; before, it trimmed each subject with its next message."),
    News(Version(2, 14, 4), "mem_storage of an existing consumer cannot change: the server refuses such updates (10012)."),
    News(Version(2, 15), "A change of retention to interest while nobody consumes deletes every stored message."),
    News(Version(2, 15), "A stream without max_consumers accepts no more than 1_000 consumers, and no answer of the API shows it."),
)  # fmt: skip


class InMemory(NamedTuple):
    """A stream that only memory keeps, or a consumer that need not go with its stream."""

    address: Address
    path: str
    """The field that says so; empty for a consumer whose stream says it."""
    has_copies: bool
    """Other servers keep it too."""


def kept_in_memory(snapshot: Snapshot) -> Iterator[InMemory]:
    """What a restart takes: with one copy at once, with several where two servers restart too soon one after the other."""
    for name, info in snapshot.streams.items():
        stream = info["config"]
        is_in_memory, is_single = stream.get("storage") == "memory", _is_single_copy(snapshot.target, stream)
        if is_in_memory:
            yield InMemory(Address.of("stream", name), "storage", not is_single)
        for consumer, its in snapshot.consumers.get(name, {}).items():
            config = its["config"]
            is_alone = _is_single_copy(snapshot.target, config, stream)
            goes_along = is_in_memory and (is_single or not is_alone)
            if (config.get("mem_storage") or is_in_memory) and config.get("durable_name") and not goes_along:
                path = "mem_storage" if config.get("mem_storage") else ""
                yield InMemory(Address("consumer", (name, consumer)), path, not is_alone)


def wait_for_replicas_sentence(addresses: Sequence[str]) -> str:
    """What to wait for between the restarts of two servers that keep these in memory."""
    return (
        "A server that restarts has nothing of what is in memory until the others have sent it. Before the next one "
        f"restarts, wait until `nats stream info` and `nats consumer info` call every replica current: {_some_names(addresses)}."
    )


def _some_names(addresses: Sequence[str]) -> str:
    rest = f" and {len(addresses) - SHOWN:_} more" if len(addresses) > SHOWN else ""
    return ", ".join(addresses[:SHOWN]) + rest


def _is_single_copy(target: Target, *configs: Config) -> bool:
    """A consumer that does not say how many copies it has follows its stream."""
    replicas = next((config["num_replicas"] for config in configs if config.get("num_replicas")), 1)
    return not target.is_clustered or replicas == 1


def news_sentences(before: Version, after: Version) -> list[str]:
    """Sentences about what changes on the way from one version to a newer one."""
    beyond = [text for version in dict.fromkeys((before, after)) if (text := unsupported_version_sentence(version))]
    return [*beyond, *(news.words for news in NEWS if before < news.since <= after)]
