"""What is live and stands in no exported file, or stands there as something else: each with its name and the reason.

All of it follows from one comparison: what the account holds, and what the addresses of the file stand for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from reconciler.changes.kind import Kind, Raw, Registry
from reconciler.journeys.export.sections import Writer
from reconciler.kinds.consumer.replacement import placeholders
from reconciler.kinds.fields.words import few
from reconciler.kinds.stream_config.stream_config import lasting_config
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.intents import intents
from reconciler.model.resource import Address, Config
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.written import written_value
from reconciler.report.words.values import counted

Selected = Callable[[Address], bool]


def left_out(
    writer: Writer, snapshot: Snapshot, registry: Registry, chosen: Sequence[Address], is_selected: Selected
) -> Iterator[Diagnostic]:
    """Report live objects that no address of the file stands for, and values that their addresses do not say."""
    yield from _consumers_left_out(writer, snapshot, registry, is_selected)
    yield from _missing_stream_warnings(writer, registry, is_selected)
    yield from _unfinished_replacement_warnings(writer, snapshot, registry, is_selected)
    yield from _unmanaged_value_warnings(writer, registry, chosen)


def not_exported(address: Address, why: str, fix: str) -> Diagnostic:
    """Return the warning about a live object that the file leaves out."""
    return Diagnostic(
        severity=Severity.WARNING, code="XX905", name="not-exported", address=str(address),
        message=f"left out of the file: {why}", fix=fix,
    )  # fmt: skip


class Reason(NamedTuple):
    """Why files do not declare some consumers."""

    noun: str
    why: str
    fix: str | None = None


EPHEMERAL = Reason(
    "ephemeral consumer",
    "Clients create these, and the server deletes them when they are idle",
    "give a consumer that must stay a durable name, and export again",
)
PLACEHOLDER = Reason(
    "placeholder", "An unfinished apply keeps messages with these", "finish that apply, and export again"
)
OTHER_DURABLE = Reason("consumer", "No file can declare these")


def _consumers_left_out(
    writer: Writer, snapshot: Snapshot, registry: Registry, is_selected: Selected
) -> Iterator[Diagnostic]:
    addresses_by_reason: defaultdict[Reason, list[str]] = defaultdict(list)
    for address, reason in _consumers_not_exported(writer, snapshot, registry):
        if is_selected(address):
            addresses_by_reason[reason].append(str(address))
    for reason, names in sorted(addresses_by_reason.items()):
        yield Diagnostic(
            severity=Severity.NOTE, code="XX905", name="not-exported",
            message=f"{counted(len(names), reason.noun)} left out of the file: {few(sorted(names))}. {reason.why}",
            fix=reason.fix,
        )  # fmt: skip


def _consumers_not_exported(writer: Writer, snapshot: Snapshot, registry: Registry) -> Iterator[tuple[Address, Reason]]:
    """Consumers of the file's streams. Those that its groups, mirrors and sources stand for are not left out: they come
    with them."""
    exported = {registry.of(address).primary(address) for address in writer.addresses}
    of_groups = {raw for kind in registry.kinds if kind.place.tag for raw in kind.claims(snapshot)}
    ours, stood_for = placeholders(snapshot), exported | of_groups
    for stream, consumers in snapshot.consumers.items():
        for name, info in consumers.items() if Raw("stream", (stream,)) in exported else ():
            if Raw("consumer", (stream, name)) not in stood_for:
                is_durable = info["config"].get("durable_name")
                reason = PLACEHOLDER if (stream, name) in ours else OTHER_DURABLE if is_durable else EPHEMERAL
                yield Address.of("consumer", stream, name), reason


def _missing_stream_warnings(writer: Writer, registry: Registry, is_selected: Selected) -> Iterator[Diagnostic]:
    sayable = {*writer.addresses}
    for address, resource in sorted(writer.live.items()):
        if address not in sayable and not resource.why_unreadable and is_selected(address):
            above = registry.parent_of(address)
            yield not_exported(address, f"its {above} does not exist", "delete its record if nobody needs it")


def _unfinished_replacement_warnings(
    writer: Writer, snapshot: Snapshot, registry: Registry, is_selected: Selected
) -> Iterator[Diagnostic]:
    for address in sorted(intents(snapshot)):
        if registry.holds(address) and address not in writer.live and is_selected(address):
            why = "an unfinished apply has deleted it to create it again"
            yield not_exported(address, why, "finish that apply, and export again")


def _unmanaged_value_warnings(writer: Writer, registry: Registry, chosen: Sequence[Address]) -> Iterator[Diagnostic]:
    for address in chosen:
        if names := writer.entry(address).get("unmanaged"):
            kind, rendered = registry.of(address), registry.of(address).render(writer.live[address])
            values = _values_in_words({name: rendered.get(name) for name in names}, kind)
            yield Diagnostic(
                severity=Severity.WARNING, code="XX905", name="not-exported", address=str(address),
                message=f"no file can say this of it: {values}. The file leaves that as found (`unmanaged`), and a copy lacks it",
                fix="change it by hand where it must be the same",
            )  # fmt: skip


def _values_in_words(values: Config, kind: Kind) -> str:
    """`discard old, no duplicate_window`."""
    return ", ".join(
        f"no {name}" if value is None else f"{name} {written_value(value, kind.fields.get(name, FieldInfo()))}"
        for name, value in values.items()
    )


def written_as_streams(snapshot: Snapshot, registry: Registry, streams: Collection[Address]) -> Iterator[Diagnostic]:
    """Report streams that have the name of a bucket, and settings that no file of buckets can say."""
    names = {address.name for address in streams if address.kind == "stream"}
    some = replace(snapshot, streams={name: info for name, info in snapshot.streams.items() if name in names})
    for kind in registry.within(None):
        for bucket in kind.recognise(some) if kind.backing else ():
            odd = kind.deviations(bucket.address, lasting_config(bucket.state["config"]), snapshot)
            yield Diagnostic(
                severity=Severity.WARNING, code="XX913", name="bucket-written-as-stream",
                address=f"stream/{kind.stream(bucket.address)}",
                message=f"written as a stream, because `{kind.section}` cannot declare it as it is: {_values_in_words(odd, kind)}. "
                f"The file says all of it, but its plans judge it by the rules of streams, not by those of `{kind.section}`",
                fix=f"declare `{bucket.address.name}` under `{kind.section}` if it is to be an ordinary one; the plan shows "
                "what that changes",
            )  # fmt: skip
