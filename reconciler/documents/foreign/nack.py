"""NACK's manifests (jetstream.nats.io/v1beta2), with the defaults of NACK, which differ from the server's.

Some are in its CRDs: a stream without a storage setting is in memory; a consumer without an ack policy uses none. Another
is in the library by which its control loop creates streams (jsm.go): no message lives longer than a year.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reconciler.documents.foreign.translation import (
    NOTHING,
    Findings,
    ForeignObject,
    To,
    kv_bucket,
    object_store,
    translate,
)
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json, Where
from reconciler.model.units import go_duration

GROUP = "jetstream.nats.io/"


def _read_duration(value: Json) -> int:
    """Read a duration as NACK does."""
    try:
        return go_duration(value if isinstance(value, str) else "")
    except ValueError:
        message = f"`{value}` is not a duration that Go can read, so NACK refuses it; write for example 24h"
        raise ValueError(message) from None


def _read_durations(values: list[Json]) -> list[int]:
    return [_read_duration(value) for value in values]


def _read_percentage(value: Json) -> str:
    """Read a sampling frequency as NACK does: with or without the sign, which it always sends. It sends no 0."""
    text = str(value)
    if not re.fullmatch("[+-]?[0-9]+%?", text) or not 0 <= int(text.removesuffix("%")) <= 100:
        raise ValueError(f"`{value}` is not a number from 0 to 100, so NACK refuses it; write for example 30")
    number = int(text.removesuffix("%"))
    return f"{number}%" if number else ""


def _unchanged_keys(*names: str) -> dict[str, To]:
    """Keys that NACK spells as the server does; their values are taken as they are."""
    return {name: To(path=name) for name in names}


TRANSFORM = {"source": To(path="src"), "dest": To(path="dest")}
SOURCE = {
    **_unchanged_keys("name"), "optStartSeq": To(path="opt_start_seq"), "optStartTime": To(path="opt_start_time"),
    "filterSubject": To(path="filter_subject"), "externalApiPrefix": To(path="external.api"),
    "externalDeliverPrefix": To(path="external.deliver"),
    "subjectTransforms": To(path="subject_transforms", inside=TRANSFORM),
}  # fmt: skip
CONNECTION = To(lost="options, variables or a context of the `nats` CLI say how to connect")
OPERATOR = {
    **dict.fromkeys(("account", "creds", "nkey", "servers", "tls", "tlsFirst"), CONNECTION),
    "jsDomain": To(lost="give --js-domain, or write `expect: {domain: …}` in the file"),
    "preventDelete": NOTHING,
    "preventUpdate": To(lost="updates of declared resources cannot be prevented; leave the resource out, or its fields `unmanaged`"),
}  # fmt: skip
STORED = {
    **OPERATOR, **_unchanged_keys("description", "storage", "placement", "metadata"), "replicas": To(path="num_replicas"),
    "maxBytes": To(path="max_bytes"),
}  # fmt: skip
REPUBLISH = {"source": To(path="src"), "destination": To(path="dest"), "headersOnly": To(path="headers_only")}
COPIES = {
    "mirror": To(path="mirror", inside=SOURCE), "sources": To(path="sources", inside=SOURCE),
    "republish": To(path="republish", inside=REPUBLISH),
}  # fmt: skip
STREAM = {
    **STORED, **COPIES, **_unchanged_keys("subjects", "retention", "discard", "sealed", "compression"), "name": NOTHING,
    "maxConsumers": To(path="max_consumers"), "maxMsgs": To(path="max_msgs"), "maxMsgSize": To(path="max_msg_size"),
    "maxMsgsPerSubject": To(path="max_msgs_per_subject"), "discardPerSubject": To(path="discard_new_per_subject"),
    "noAck": To(path="no_ack"), "denyDelete": To(path="deny_delete"), "denyPurge": To(path="deny_purge"),
    "allowRollup": To(path="allow_rollup_hdrs"), "firstSequence": To(path="first_seq"),
    "allowDirect": To(path="allow_direct"), "mirrorDirect": To(path="mirror_direct"),
    "allowMsgTtl": To(path="allow_msg_ttl"), "allowMsgCounter": To(path="allow_msg_counter"),
    "allowAtomicPublish": To(path="allow_atomic"), "allowMsgSchedules": To(path="allow_msg_schedules"),
    "persistMode": To(path="persist_mode"), "maxAge": To(path="max_age", read=_read_duration),
    "duplicateWindow": To(path="duplicate_window", read=_read_duration),
    "subjectDeleteMarkerTtl": To(path="subject_delete_marker_ttl", read=_read_duration),
    "subjectTransform": To(path="subject_transform", inside=TRANSFORM),
    "consumerLimits": To(
        path="consumer_limits",
        inside={
            "inactiveThreshold": To(path="inactive_threshold", read=_read_duration),
            "maxAckPending": To(path="max_ack_pending"),
        },
    ),
}  # fmt: skip
POLICIES = {
    "byStartSequence": "by_start_sequence", "byStartTime": "by_start_time", "lastPerSubject": "last_per_subject",
}  # fmt: skip
CONSUMER = {
    **OPERATOR, **_unchanged_keys("description", "metadata"), "durableName": NOTHING, "streamName": NOTHING,
    "deliverPolicy": To(path="deliver_policy", read=lambda value: POLICIES.get(value, value)),
    "optStartSeq": To(path="opt_start_seq"), "optStartTime": To(path="opt_start_time"),
    "deliverSubject": To(path="deliver_subject"), "deliverGroup": To(path="deliver_group"),
    "ackPolicy": To(path="ack_policy"), "ackWait": To(path="ack_wait", read=_read_duration),
    "maxDeliver": To(path="max_deliver"), "backoff": To(path="backoff", read=_read_durations),
    "filterSubject": To(path="filter_subject"), "filterSubjects": To(path="filter_subjects"),
    "replayPolicy": To(path="replay_policy"), "sampleFreq": To(path="sample_freq", read=_read_percentage),
    "maxWaiting": To(path="max_waiting"), "rateLimitBps": To(path="rate_limit_bps"),
    "maxAckPending": To(path="max_ack_pending"), "flowControl": To(path="flow_control"),
    "headersOnly": To(path="headers_only"), "heartbeatInterval": To(path="idle_heartbeat", read=_read_duration),
    "maxRequestBatch": To(path="max_batch"), "maxRequestExpires": To(path="max_expires", read=_read_duration),
    "maxRequestMaxBytes": To(path="max_bytes"), "inactiveThreshold": To(path="inactive_threshold", read=_read_duration),
    "pauseUntil": To(path="pause_until"), "priorityPolicy": To(path="priority_policy"),
    "pinnedTtl": To(path="priority_timeout", read=_read_duration), "priorityGroups": To(path="priority_groups"),
    "replicas": To(path="num_replicas"), "memStorage": To(path="mem_storage"),
}  # fmt: skip
BUCKET = {
    **STORED, "bucket": NOTHING, "ttl": To(path="max_age", read=_read_duration),
    "compression": To(path="compression", read=lambda _: "s2"),
}  # fmt: skip
KV = {
    **BUCKET, **COPIES, "metadata": To(lost="the CRD of KeyValue has no such field, and NACK sends none"),
    "history": To(path="max_msgs_per_subject"), "maxValueSize": To(path="max_msg_size"),
    "limitMarkerTtl": To(path="subject_delete_marker_ttl"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """What is live where a manifest leaves a key out, although the server has another default."""

    key: str
    name: str
    """The server's name of the field."""
    value: Json = None
    """None: a manifest does not tell, and the server's default is kept, under which nothing is deleted."""
    message: str
    fix: str
    unless: str = ""
    """The server takes the value of this key instead."""
    is_for_empty: bool = False
    """An empty value counts as left out. A CRD fills in none but missing keys."""

    def holds(self, spec: Mapping[str, Json]) -> bool:
        """Is it live?"""
        if spec.get(self.unless):
            return False
        return not spec.get(self.key) if self.is_for_empty else self.key not in spec


STREAM_DEFAULTS = (
    Default(
        key="storage", name="storage", value="memory",
        message="storage is memory, the default of NACK's CRD where a manifest leaves it out",
        fix="check that memory is what was meant; it cannot be changed later",
    ),
    Default(
        key="maxAge", name="max_age", is_for_empty=True,
        message="max_age was left out, as maxAge is: messages stay forever, but NACK with `--control-loop` has set 365d",
        fix="write max_age: 365d if NACK runs with `--control-loop`, and that is what was meant; `plan` shows what is live",
    ),
)  # fmt: skip
CONSUMER_DEFAULTS = (
    Default(
        key="ackPolicy", name="ack_policy", value="none",
        message="ack_policy is none, the default of NACK's CRD where a manifest leaves it out",
        fix="check that none is what was meant",
    ),
    Default(
        key="ackWait", name="ack_wait", value=1, unless="backoff",
        message="ack_wait is 1ns, the default of NACK's CRD where a manifest leaves it out",
        fix="write what was meant, for example 30s",
    ),
)  # fmt: skip


def _defaults(
    defaults: Sequence[Default], spec: Mapping[str, Json], where: Where, findings: Findings, address: str
) -> Config:  # fmt: skip
    """Return the defaults that are live, and name each."""
    live = [default for default in defaults if default.holds(spec)]
    for default in live:
        findings.add_tools_default(where, "", default.message, about=address, fix=default.fix)
    return {default.name: default.value for default in live if default.value is not None}


def is_kubernetes_manifest(document: Json) -> bool:
    """Is this a Kubernetes manifest? `read_nack` tells whether it is one of NACK's."""
    return isinstance(document, Mapping) and "kind" in document and "apiVersion" in document


def read_nack(manifest: Mapping[str, Json], where: Where, findings: Findings, prefix: str = "") -> None:
    """Read one document; a list holds several."""
    if isinstance(items := manifest.get("items"), list):
        for number, item in enumerate(items):
            if isinstance(item, Mapping):
                read_nack(item, where, findings, f"{prefix}items[{number}].")
        return
    kind, spec = str(manifest.get("kind")), manifest.get("spec")
    read = READERS.get(kind) if str(manifest.get("apiVersion")).startswith(GROUP) else None
    if read is None:
        findings.add_left_out(
            where, f"{prefix}kind", f"{kind} {_quoted_name(manifest)} was left out: it is no stream, consumer or bucket"
        )
    elif manifest["apiVersion"] != f"{GROUP}v1beta2":
        findings.add_unreadable(
            where, f"{prefix}apiVersion", f"{manifest['apiVersion']} cannot be read; write {GROUP}v1beta2"
        )
    elif not isinstance(spec, Mapping):
        findings.add_unreadable(where, f"{prefix}kind", f"{kind} {_quoted_name(manifest)} has no `spec`")
    else:
        read(spec, lambda path: where(f"{prefix}spec.{path}".rstrip(".")), findings)


def _quoted_name(manifest: Mapping[str, Json]) -> str:
    metadata = manifest.get("metadata")
    return f"`{metadata.get('name')}`" if isinstance(metadata, Mapping) else ""


def _protection(spec: Mapping[str, Json]) -> dict[str, Json]:
    return {"protect": True} if spec.get("preventDelete") else {}


def _add_stream(spec: Mapping[str, Json], where: Where, findings: Findings) -> None:
    name = str(spec.get("name") or "")
    address = f"stream/{name}"
    config = {**translate(spec, STREAM, where, findings, address), "name": name}
    config |= _defaults(STREAM_DEFAULTS, spec, where, findings, address)
    findings.found.append(ForeignObject(on=(name,), config=config, where=where, beside=_protection(spec)))


def _add_consumer(spec: Mapping[str, Json], where: Where, findings: Findings) -> None:
    stream, name = str(spec.get("streamName") or ""), str(spec.get("durableName") or "")
    address = f"consumer/{stream}/{name}"
    if not name:
        findings.add_left_out(
            where,
            "streamName",
            "an ephemeral consumer disappears with its client, so no file declares it",
            about=address,
        )
        return
    config = {**translate(spec, CONSUMER, where, findings, address), "durable_name": name, "name": name}
    _drop_unpinned(config, spec, where, findings, address)
    _unwrap_single_filter(config)
    defaults = _defaults(CONSUMER_DEFAULTS, spec, where, findings, address)
    extra = {**_protection(spec), **{key: value for key, value in defaults.items() if key == "ack_policy"}}
    config |= defaults
    findings.found.append(ForeignObject(on=(stream, name), config=config, where=where, beside=extra))


def _unwrap_single_filter(config: dict[str, Json]) -> None:
    """NACK sends a list of one filter as `filter_subject`. It refuses both."""
    filters = config.get("filter_subjects")
    if isinstance(filters, list) and len(filters) == 1 and "filter_subject" not in config:
        config["filter_subject"] = config.pop("filter_subjects")[0]


def _drop_unpinned(
    config: dict[str, Json], spec: Mapping[str, Json], where: Where, findings: Findings, address: str
) -> None:  # fmt: skip
    """Without `pinnedTtl` NACK sends neither the policy nor groups, and groups need a policy."""
    if config.get("priority_policy") == "pinned_client" and not spec.get("pinnedTtl"):
        message = "priorityPolicy pinned_client was left out: without pinnedTtl NACK sends neither policy nor groups"
        fix = "write priority_policy, priority_groups and priority_timeout if you want them"
        findings.add_left_out(where, "priorityPolicy", message, about=address, fix=fix)
        config.pop("priority_policy")
    if config.get("priority_policy", "none") == "none":
        for name in ("priority_groups", "priority_timeout"):
            config.pop(name, None)


def _add_kv_bucket(spec: Mapping[str, Json], where: Where, findings: Findings) -> None:
    name = str(spec.get("bucket") or "")
    config = translate(spec, KV, where, findings, f"kv_bucket/{name}")
    for origin in (*(config.get("sources") or ()), *filter(None, [config.get("mirror")])):
        if "name" in origin:
            origin["name"] = f"KV_{str(origin['name']).removeprefix('KV_')}"
    findings.found.append(kv_bucket(name, config, where, _protection(spec)))


def _add_object_store(spec: Mapping[str, Json], where: Where, findings: Findings) -> None:
    name = str(spec.get("bucket") or "")
    config = translate(spec, BUCKET, where, findings, f"object_store/{name}")
    findings.found.append(object_store(name, config, where, _protection(spec)))


READERS = {
    "Stream": _add_stream,
    "Consumer": _add_consumer,
    "KeyValue": _add_kv_bucket,
    "ObjectStore": _add_object_store,
}
