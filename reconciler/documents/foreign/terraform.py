"""A Terraform state (version 4) with resources of the JetStream provider, in its units: seconds, bytes, and inverted
flags.

The provider's Read keeps subject_transform, placement, mirror, source and republish after somebody removes them
outside, so a state may contain more than is live; a plan of the imported file shows that.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.documents.foreign.translation import (
    NOTHING,
    Findings,
    ForeignObject,
    To,
    kv_bucket,
    object_store,
    places_below,
    translate,
)
from reconciler.model.resource import Json, Where

STATE = "give what `terraform state pull` prints"
SECOND = 1_000_000_000
NANOSECONDS = 10**8
"""The provider writes inactive_threshold of streams in seconds and reads it back in nanoseconds. A number from here on
can only be nanoseconds: as seconds it would be three years."""


def _from_seconds(value: Json) -> int:
    """Convert the provider's seconds to the server's nanoseconds. Raises ValueError for anything but a number."""
    if not isinstance(value, int | float):
        raise ValueError(f"`{value}` is not a number of seconds")  # noqa: TRY004 - about the file, not the caller
    return round(value * SECOND)


def _read_backoff(values: list[Json]) -> list[int]:
    if 0 in values:
        raise ValueError("the state holds whole seconds, and this duration is shorter")
    return [_from_seconds(value) for value in values]


def _read_threshold(value: int) -> int:
    return value if value >= NANOSECONDS else _from_seconds(value)


TRANSFORM = {"source": To(path="src"), "destination": To(path="dest")}
SOURCE = {
    "name": To(path="name"), "start_seq": To(path="opt_start_seq"), "start_time": To(path="opt_start_time"),
    "filter_subject": To(path="filter_subject"), "subject_transform": To(path="subject_transforms", inside=TRANSFORM),
    "external": To(path="external", single=True, inside={"api": To(path="api"), "deliver": To(path="deliver")}),
    "consumer": To(
        path="consumer", single=True,
        inside={"name": To(path="name"), "deliver_subject": To(path="deliver_subject")},
    ),
}  # fmt: skip
PLACED = {
    "placement_cluster": To(path="placement.cluster"), "placement_tags": To(path="placement.tags"),
    "placement_preferred": To(path="placement.preferred"), "replicas": To(path="num_replicas"),
    "storage": To(path="storage"), "description": To(path="description"), "id": NOTHING, "name": NOTHING,
}  # fmt: skip
AS_IS = (
    "subjects", "metadata", "discard", "discard_new_per_subject", "max_msgs", "max_msgs_per_subject", "max_bytes",
    "max_msg_size", "retention", "compression", "max_consumers", "deny_delete", "deny_purge", "allow_rollup_hdrs",
    "allow_direct", "mirror_direct", "allow_msg_ttl", "allow_msg_counter", "allow_atomic", "allow_msg_schedules",
    "first_seq", "persist_mode", "allow_batched",
)  # fmt: skip
STREAM = {
    **PLACED, **{name: To(path=name) for name in AS_IS}, "ack": NOTHING,
    "max_age": To(path="max_age", read=_from_seconds), "duplicate_window": To(path="duplicate_window", read=_from_seconds),
    "subject_transform": To(path="subject_transform", single=True, inside=TRANSFORM),
    "mirror": To(path="mirror", single=True, inside=SOURCE), "source": To(path="sources", inside=SOURCE),
    "republish_source": To(path="republish.src"), "republish_destination": To(path="republish.dest"),
    "republish_headers_only": To(path="republish.headers_only"),
    "max_ack_pending": To(path="consumer_limits.max_ack_pending"),
    "inactive_threshold": To(path="consumer_limits.inactive_threshold", read=_read_threshold),
    "subject_delete_marker_ttl": To(path="subject_delete_marker_ttl", read=_from_seconds),
}  # fmt: skip
DELIVER = {
    "deliver_all": "all", "deliver_last": "last", "deliver_new": "new", "deliver_last_per_subject": "last_per_subject",
    "stream_sequence": "by_start_sequence", "start_time": "by_start_time",
}  # fmt: skip
"""In the order in which the provider looks at them."""
CONSUMER = {
    **dict.fromkeys(("id", "stream_id", "durable_name", *DELIVER), NOTHING),
    **{
        name: To(path=name)
        for name in (
            "description", "metadata", "ack_policy", "filter_subject", "filter_subjects", "replay_policy", "flow_control",
            "max_ack_pending", "max_waiting", "headers_only", "max_batch", "max_bytes", "priority_policy", "priority_groups",
        )
    },
    "delivery_subject": To(path="deliver_subject"), "delivery_group": To(path="deliver_group"),
    "max_delivery": To(path="max_deliver"), "ratelimit": To(path="rate_limit_bps"),
    "sample_freq": NOTHING, "replicas": To(path="num_replicas"),
    "memory": To(path="mem_storage"), "backoff": To(path="backoff", read=_read_backoff),
    "ack_wait": To(path="ack_wait", read=_from_seconds), "heartbeat": To(path="idle_heartbeat", read=_from_seconds),
    "max_expires": To(path="max_expires", read=_from_seconds), "priority_timeout": To(path="priority_timeout", read=_from_seconds),
    "inactive_threshold": To(path="inactive_threshold", read=_from_seconds),
}  # fmt: skip
BUCKET = {**PLACED, "ttl": To(path="max_age", read=_from_seconds), "max_bucket_size": To(path="max_bytes")}
KV = {
    **BUCKET, "history": To(path="max_msgs_per_subject"), "max_value_size": To(path="max_msg_size"),
    "limit_marker_ttl": To(path="subject_delete_marker_ttl", read=_from_seconds),
}  # fmt: skip
OBJ = {**BUCKET, "compression": To(path="compression", read=lambda _: "s2")}


STATE_KEYS = frozenset({"terraform_version", "resources", "modules", "lineage"})
"""A state of any version has one of them: before version 4, `modules` held the resources."""


def is_terraform(document: Json) -> bool:
    """Does this look like a Terraform state, of any version?"""
    return isinstance(document, Mapping) and not STATE_KEYS.isdisjoint(document)


def read_terraform(state: Mapping[str, Json], where: Where, findings: Findings) -> None:
    """Add the JetStream resources of a state to `into`. Any version but 4 is a problem."""
    if state.get("version") != 4 or not isinstance(state.get("resources"), list):
        message = "this is not a Terraform state of version 4"
        findings.add_unreadable(where, "version", message, fix=STATE)
        return
    others = 0
    for number, resource in enumerate(state["resources"]):
        if not isinstance(resource, Mapping) or not str(resource.get("type")).startswith("jetstream_"):
            others += 1
        elif resource.get("mode", "managed") == "managed":
            _add_resource(resource, where, findings, f"resources[{number}]")
    if others:
        findings.add_left_out(where, "resources", f"resources of other providers were left out: {others}")


def _add_resource(resource: Mapping[str, Json], where: Where, findings: Findings, path: str) -> None:
    name = f"{resource['type']}.{resource.get('name')}"
    read = READERS.get(resource["type"])
    instances = resource.get("instances")
    for number, instance in enumerate(instances if isinstance(instances, list) else ()):
        prefix = f"{path}.instances[{number}].attributes."
        if read is None:
            findings.add_left_out(
                where, path, f"{name} was left out: {WHY_NOT.get(resource['type'], 'its type is unknown here')}"
            )
        elif not (isinstance(instance, Mapping) and isinstance(attributes := instance.get("attributes"), Mapping)):
            findings.add_unreadable(
                where, path, f"{name} has no attributes; terraform before 0.12 wrote them in another form"
            )
        else:
            read(attributes, places_below(where, prefix), findings)


WHY_NOT = {"jetstream_kv_entry": "values are contents, which a topology does not manage"}


def _add_stream(attributes: Mapping[str, Json], where: Where, findings: Findings) -> None:
    name = str(attributes.get("name"))
    config = _translate_with_placement(attributes, STREAM, where, findings, f"stream/{name}")
    if attributes.get("ack") is False:
        config["no_ack"] = True
    findings.found.append(ForeignObject(on=(name,), config={**config, "name": name}, where=where))


def _translate_with_placement(
    attributes: Mapping[str, Json], table: Mapping[str, To], where: Where, findings: Findings, address: str
) -> dict[str, Json]:
    """Return the result of `carried`, without placement tags that the provider would never send."""
    config = translate(attributes, table, where, findings, address)
    if attributes.get("placement_tags") and not attributes.get("placement_cluster"):
        message = "placement_tags were left out: without placement_cluster the provider never sends them"
        findings.add_left_out(
            where, "placement_tags", message, about=address, fix="write `placement: {tags: […]}` if you want them"
        )
        placement = {key: value for key, value in config.pop("placement").items() if key != "tags"}
        config |= {"placement": placement} if placement else {}
    return config


def _add_consumer(attributes: Mapping[str, Json], where: Where, findings: Findings) -> None:
    stream = str(attributes.get("stream_id")).removeprefix("JETSTREAM_STREAM_")
    name = str(attributes.get("durable_name"))
    address = f"consumer/{stream}/{name}"
    config = _translate_with_placement(attributes, CONSUMER, where, findings, address)
    if isinstance(attributes.get("sample_freq"), int):
        config["sample_freq"] = f"{attributes['sample_freq']}%"  # the provider sends `0%` too, and servers keep that
    policy = next((policy for key, policy in DELIVER.items() if attributes.get(key)), "all")
    config |= {"deliver_policy": policy, "durable_name": name, "name": name}
    if policy == "by_start_sequence":
        config["opt_start_seq"] = attributes["stream_sequence"]
    if policy == "by_start_time":
        config["opt_start_time"] = attributes["start_time"]
        findings.add_left_out(where, "start_time", "start_time is kept in whole seconds by the provider", about=address)
    findings.found.append(ForeignObject(on=(stream, name), config=config, where=where))


def _add_kv_bucket(attributes: Mapping[str, Json], where: Where, findings: Findings) -> None:
    name = str(attributes.get("name"))
    config = _translate_with_placement(attributes, KV, where, findings, f"kv_bucket/{name}")
    findings.found.append(kv_bucket(name, config, where))


def _add_object_store(attributes: Mapping[str, Json], where: Where, findings: Findings) -> None:
    name = str(attributes.get("name"))
    config = _translate_with_placement(attributes, OBJ, where, findings, f"object_store/{name}")
    findings.found.append(object_store(name, config, where))


READERS = {
    "jetstream_stream": _add_stream, "jetstream_consumer": _add_consumer,
    "jetstream_kv_bucket": _add_kv_bucket, "jetstream_obj_bucket": _add_object_store,
}  # fmt: skip
