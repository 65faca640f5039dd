"""Checks of a stream's configuration by itself, as servers make them at every create and update: one function each,
stamped for every kind that is stored in a stream.

Values of a stream's configuration that are out of range: durations, sizes, numbers and text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import declared_config
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.words import in_words, some
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
from reconciler.model.units import show_bytes, show_duration
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

OwnName = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A stream's configuration as a request carries it, in the server's names, and the server that gets it."""

    config: Config
    live: Config = field(default_factory=dict)
    """What exists already; empty for a new stream."""
    target: Target
    is_new: bool
    own: OwnName = lambda name: name
    """The file's name for a field."""
    stated: Callable[[], Config] = dict
    """The fields that the file states, as it states them: the server sets some of them to other values."""

    def get(self, name: str) -> Json:
        """The value that is sent for a field, by the server's name; None if it is left out."""
        return self.config.get(name)

    @property
    def version(self) -> Version:
        """The lowest version among the servers that answered; the checks use that one."""
        return self.target.version

    def touches(self, name: str) -> bool:
        """Does the request change this field? A new stream changes every field."""
        return self.is_new or self.config.get(name) != self.live.get(name)


Check = Callable[[Sent], Iterable[Finding]]
StreamConfigs = Callable[[Change], tuple[Config, Config]]
"""From a kind's change to the stream's configuration, wanted and live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigCheck:
    """A check with the last digits of its code; each family stamps its own letters on it."""

    number: int
    name: str
    err_codes: tuple[int, ...]
    check: Check


def config_check(number: int, name: str, *, err_code: int | tuple[int, ...] = ()) -> Callable[[Check], ConfigCheck]:
    """Make a check from a function; its docstring is the page that people read."""
    err_codes = (err_code,) if isinstance(err_code, int) else err_code
    return lambda check: ConfigCheck(number=number, name=name, err_codes=err_codes, check=check)


def rules_of_family(
    family: str, checks: Sequence[ConfigCheck], stream_configs: StreamConfigs, own: OwnName = lambda name: name
) -> tuple[Rule, ...]:
    """The rules of one family; `stream_configs` tells what a change of this kind sends."""
    return tuple(_rule_of_check(family, check, stream_configs, own) for check in checks)


def _rule_of_check(family: str, check: ConfigCheck, stream_configs: StreamConfigs, own: OwnName) -> Rule:
    def judge(change: Change, view: View) -> Found:
        if change.desired is None:
            return None
        config, live = stream_configs(change)
        is_new = change.action is Action.CREATE
        stated = partial(declared_config, change.desired.terms)
        return check.check(Sent(config=config, live=live, target=view.target, is_new=is_new, own=own, stated=stated))

    judge.__doc__ = check.check.__doc__
    return rule(f"{family}{check.number}", check.name, err_code=check.err_codes)(judge)


def objection(path: str, message: str, fix: str, **more: Any) -> Finding:
    """A refusal, unless `more` names another outcome."""
    return Finding(**{"outcome": Outcome.REFUSED, "path": path, "message": message, "fix": fix, **more})


def is_since(version: Version, *firsts: Version) -> bool:
    """Does this version have what came with `firsts`, the first patch of each release line that has it, oldest
    first?"""
    lines = [first for first in firsts if first[:2] <= version[:2]]
    return bool(lines) and version >= lines[-1]


def sources_of(config: Config) -> Iterator[tuple[str, Json]]:
    """Every stream this one copies from, with its path: the mirror's origin, and all sources."""
    if "mirror" in config:
        yield "mirror", config["mirror"]
    yield from ((f"sources[{index}]", source) for index, source in enumerate(config.get("sources", ())))


MILLISECOND, SECOND = 1_000_000, 1_000_000_000
LEAST: Mapping[str, int] = {
    "max_age": 100 * MILLISECOND,
    "duplicate_window": 100 * MILLISECOND,
    "subject_delete_marker_ttl": SECOND,
}
"""The shortest duration that servers accept, by field."""
MOST_REPLICAS = 5
REFUSES_REPLICAS = Version(2, 14, 6)
"""First version that refuses replicas on a single server in updates too."""
LARGEST_MESSAGE = (1 << 31) - 1
LONGEST_DESCRIPTION = 4096
MOST_METADATA = 128 << 10
TOMBSTONES = 1 << 62
"""From this sequence on, a file store treats a message as the mark of a deleted one (nats-server filestore.go,
`tbit`)."""


@config_check(544, "bad-duration", err_code=10052)
def bad_duration(sent: Sent) -> Iterator[Finding]:
    """A duration is negative or too short, or a duplicate window is longer than the messages live.

    Servers accept max_age and duplicate_window from 100ms and delete markers from 1s. They refuse to remember message
    ids for longer than max_age keeps the messages.

    Instead: write a longer duration; leave `duplicate_window` out to let it follow max_age.
    """
    for name, least in LEAST.items():
        value, own = sent.get(name), sent.own(name)
        if value is not None and value < least:
            yield objection(
                own,
                f"{own} {in_words(value, 'duration')} is {'negative' if value < 0 else f'less than {show_duration(least)}'}",
                f"write {show_duration(least)} or more, or leave {own} out; a number without a unit counts nanoseconds",
            )
    age, window = sent.get("max_age") or 0, sent.get("duplicate_window") or 0
    if 0 < age < window:
        path = sent.own("duplicate_window")
        yield objection(
            path,
            f"{path} {show_duration(window)} is longer than {sent.own('max_age')} {show_duration(age)}",
            f"write {show_duration(age)} or less, or leave {path} out",
        )


@config_check(552, "out-of-range", err_code=(10052, 10133, 10025))
def out_of_range(sent: Sent) -> Iterator[Finding]:
    """Servers do not accept this number or text: replicas beyond 0 to 5, messages of 2 GiB and more, a sequence below
    zero, a description over 4096 bytes, metadata over 128 KiB.

    They refuse the whole configuration, or cannot even read it. They accept a `first_seq` from 2^62 on, and *lose* all
    messages from there on at their next start: in a file these look like marks of deleted messages.

    Instead: choose a value in the range that the message names.
    """
    replicas, size = sent.get("num_replicas") or 1, sent.get("max_msg_size") or 0
    if not 0 < replicas <= MOST_REPLICAS:
        yield objection(
            "num_replicas", f"num_replicas {replicas} is not between 1 and {MOST_REPLICAS}", "write 1, 3 or 5"
        )
    if size > LARGEST_MESSAGE:
        path = sent.own("max_msg_size")
        yield objection(
            path,
            f"{path} {show_bytes(size)} is more than servers can count",
            f"write at most {LARGEST_MESSAGE}, or leave it out for no limit",
        )
    yield from _check_sequences(sent)
    yield from _check_text_sizes(sent)


def _check_sequences(sent: Sent) -> Iterator[Finding]:
    starts = {f"{path}.opt_start_seq": source.get("opt_start_seq") for path, source in sources_of(sent.config)}
    for path, sequence in {"first_seq": sent.get("first_seq"), **starts}.items():
        if (sequence or 0) < 0:
            yield objection(path, f"{path} {sequence} is negative", "sequences begin at 1; leave it out for the first")
    first = sent.get("first_seq") or 0
    if sent.is_new and first >= TOMBSTONES and sent.get("storage") != "memory":
        yield objection(
            sent.own("first_seq"),
            f"{sent.own('first_seq')} {first} is 2^62 or more, where a server treats messages as deleted ones: it would answer ok "
            "and lose them all at its next restart",
            "write a smaller number that leaves room for all messages to come, such as any below 2^61",
            reaction=Reaction.DOOMS,
        )


def _check_text_sizes(sent: Sent) -> Iterator[Finding]:
    description = len((sent.get("description") or "").encode())
    if description > LONGEST_DESCRIPTION:
        yield objection(
            "description",
            f"the description has {some(description, 'byte')}, and servers accept {LONGEST_DESCRIPTION}",
            "shorten it",
        )
    everything = {**(sent.get("metadata") or {}), **_server_metadata(sent)}
    metadata = sum(len(text.encode()) for pair in everything.items() for text in pair)
    if metadata > MOST_METADATA:
        yield objection(
            "metadata",
            f"the metadata has {some(metadata, 'byte')} with the server's own, and servers accept {MOST_METADATA}",
            "keep it shorter, or elsewhere",
        )


def _server_metadata(sent: Sent) -> Mapping[str, str]:
    """Metadata that the server adds and counts; in an update also that which it reported when it was asked about the stream."""
    reported = {} if sent.is_new else {"_nats.ver": str(sent.version), "_nats.level": "0"}
    return {"_nats.req.level": "0", **reported}


@config_check(511, "replicas-on-single-server", err_code=10074)
def replicas_on_single_server(sent: Sent) -> Iterator[Finding]:
    """A stream has more than one replica on a server that is not clustered.

    Every version refuses to create it (10074). Versions before 2.14.6 accept an update and show the new number. They do
    not apply it, and *lose* the data at their next restart.

    Instead: num_replicas: 1, or a cluster.
    """
    wanted = sent.get("num_replicas") or 1
    if wanted <= 1 or sent.target.is_clustered:
        return
    doomed = not sent.is_new and sent.version < REFUSES_REPLICAS
    yield objection(
        "num_replicas",
        f"{wanted} replicas need a cluster, and this is a single server"
        + (", which would answer ok and lose everything at its next restart" if doomed else ""),
        "write num_replicas: 1, or use a cluster",
        reaction=Reaction.DOOMS if doomed else None,
    )


@config_check(553, "even-replicas")
def even_replicas(sent: Sent) -> Iterator[Finding]:
    """An even number of replicas: 2 survive no more failures than 1, and 4 no more than 3.

    The server accepts it. A majority must agree on every message, so the extra replica costs disk and time and gains
    nothing.

    Instead: num_replicas: 3 or 5.
    """
    replicas = sent.get("num_replicas")
    if replicas in (2, 4) and sent.target.is_clustered and sent.touches("num_replicas"):
        yield Finding(
            outcome=Outcome.WARNS,
            path="num_replicas",
            message=f"{replicas} replicas survive no more failures than {replicas - 1}",
            fix=f"write num_replicas: {replicas + 1}, or {replicas - 1}",
        )


@config_check(551, "bad-placement", err_code=10052)
def bad_placement(sent: Sent) -> Iterator[Finding]:
    """`placement.preferred` names the server that should lead.

    Servers refuse it in a stream's configuration; it belongs in the request that asks a leader to step down.

    Instead: remove `preferred`; place by `cluster` and `tags`.
    """
    if "preferred" in (sent.get("placement") or {}):
        yield objection(
            "placement.preferred",
            "servers refuse placement.preferred in a stream's configuration",
            "remove it; place by cluster and tags",
        )


CHECKS = (replicas_on_single_server, bad_duration, out_of_range, even_replicas, bad_placement)
