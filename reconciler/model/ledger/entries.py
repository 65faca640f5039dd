"""What stands in an entry of bucket `reconciler`. Others can write there, and later versions do: types are checked here, once.

Whatever comes out of here is as its decoder says, so nothing behind has to ask again.

How much room bucket `reconciler` asks for where the account wants every stream bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite

from pydantic_core import from_json, to_json

from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

FORMAT = 1
LONGEST = 1_000
"""Bytes of a topology's name as part of a key: beyond some 4 kB no server takes the subject of its lease."""

Fits = Callable[[Json], bool]


class Unusable(ValueError):
    """Why an entry cannot be used, in words that go on from "it cannot be used:"."""


def compact_json(value: object) -> bytes:
    """Write a value as it is stored and sent: JSON without spaces, in UTF-8."""
    return to_json(value)  # twice as fast as the standard library's, and the same to the byte


def json_object(value: bytes) -> dict[str, Json]:
    """Read a JSON object. Raises Unusable. Infinities are no JSON: nothing could print them again."""
    record = _parse_object(value)
    if not is_finite(record):
        raise Unusable("its text is not JSON")
    return record


def read_entry(value: bytes, shapes: Mapping[str, Fits]) -> dict[str, Json]:
    """Return what an entry of our format says under these names, each value of the shape named here, and its
    `topology`. What is null is left out. Raises Unusable."""
    record = _parse_object(value)
    if (format_found := record.get("format")) != FORMAT:
        raise Unusable(f"its format is {str(format_found)[:20]}, this version reads {FORMAT}")
    if not is_topology(topology := record.get("topology")):
        raise Unusable("it names no topology")
    fields = {name: field_value for name, field_value in record.items() if field_value is not None and name in shapes}
    for name, field_value in fields.items():
        if not shapes[name](field_value):
            raise Unusable(f"its `{name}` is not of the kind it has to be")
    return {"topology": topology, **fields}


def _parse_object(value: bytes) -> dict[str, Json]:
    try:
        parsed = from_json(value, allow_inf_nan=False)  # twice as fast as the standard library's; thousands are read
    except ValueError:
        raise Unusable("its text is not JSON") from None
    if not isinstance(parsed, dict):
        raise Unusable("it is not a JSON object")
    return parsed


_PLAINLY_FINITE = frozenset({str, int, bool, type(None)})


def is_finite(value: Json) -> bool:
    """Can JSON say it again? 1e999 is read as a number that it cannot."""
    inside = value.values() if type(value) is dict else value if type(value) is list else None
    if inside is None:
        return type(value) is not float or isfinite(value)
    return _PLAINLY_FINITE.issuperset(map(type, inside)) or all(map(is_finite, inside))


def is_text(value: Json) -> bool:
    """Is it a text? An empty one is."""
    return isinstance(value, str)


def is_true_or_false(value: Json) -> bool:
    """Is it true or false? 0 and 1 are not."""
    return isinstance(value, bool)


def is_mapping(value: Json) -> bool:
    """Is it a JSON object of any content that JSON can say again?"""
    return isinstance(value, dict) and is_finite(value)


def is_list(value: Json) -> bool:
    """Is it a list of any content that JSON can say again?"""
    return isinstance(value, list) and is_finite(value)


def are_texts(value: Json) -> bool:
    """Is it a list of texts, or an empty one?"""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def are_labels(value: Json) -> bool:
    """Is it a mapping of names to texts?"""
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def is_number(value: Json) -> bool:
    """Is it a whole number, negative ones included? True and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_sequence(value: Json) -> bool:
    """Is it the number of a message?"""
    return is_number(value) and 0 < value < 1 << 64


def is_version(value: Json) -> bool:
    """Is it a server's version, `2.12.8`, or empty, where nobody knew it?"""
    return isinstance(value, str) and (not value or _is_version(value))


@lru_cache(maxsize=64)
def _is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


def is_topology(value: Json) -> bool:
    """Is it a topology's name: not empty, and short enough for a key?"""
    return isinstance(value, str) and _names_a_topology(value)


@lru_cache(maxsize=64)
def _names_a_topology(name: str) -> bool:
    return 0 < len(escaped(name)) <= LONGEST


def _are_shares(value: Json) -> bool:
    """`{"member": [0, 1]}`"""
    return isinstance(value, dict) and all(
        isinstance(item, list) and all(map(is_number, item)) for item in value.values()
    )


def _is_copied_origin(value: Json) -> bool:
    """What a stream says of an origin: `{"name": "ORDERS", "filter_subject": "orders.eu"}`"""
    if not isinstance(value, dict) or not (is_text(value.get("name")) and is_text(value.get("filter_subject", ""))):
        return False
    transforms = value.get("subject_transforms") or []
    return isinstance(transforms, list) and all(
        isinstance(transform, dict) and is_text(transform.get("src") or "") for transform in transforms
    )


def _are_copied_origins(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_copied_origin, value))


def _are_partitioning_filters(value: Json) -> bool:
    """`[{"filter": "orders.*", "partitioning_wildcards": [1]}]`"""
    return isinstance(value, list) and all(isinstance(item, dict) and is_text(item.get("filter")) for item in value)


_CONFIG: Mapping[str, Fits] = {
    "filter_subject": is_text, "filter_subjects": are_texts, "filters": are_texts,
    "mirror": _is_copied_origin, "sources": _are_copied_origins,
    "partitioning_filters": _are_partitioning_filters,
    "metadata": is_mapping, "deliver_policy": is_text, "opt_start_seq": is_sequence, "opt_start_time": is_text,
    "max_members": is_number, "members": are_texts, "member_mappings": _are_shares,
}  # fmt: skip
"""Fields of which more is asked than whether two values are equal."""
_ASKED = frozenset(_CONFIG)


def is_config(value: Json) -> bool:
    """Is it the canonical configuration of an object?"""
    if type(value) is not dict or not is_finite(value):
        return False
    return _ASKED.isdisjoint(value) or all(
        value[name] is None or _CONFIG[name](value[name]) for name in _ASKED & value.keys()
    )


_START = frozenset({"deliver_policy", "opt_start_seq", "opt_start_time"})


def is_start(value: Json) -> bool:
    """Does it say where a consumer had to begin? It is empty where the consumer began as its file says."""
    return is_config(value) and value.keys() <= _START


_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def escaped(text: str) -> str:
    """One token of a key."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(chr(b) if _PLAIN.match(chr(b)) else f"={b:02X}" for b in text.encode())


def unescaped(text: str) -> str:
    """The text of such a token. Raises ValueError where the bytes are no text."""
    if "=" not in text:
        return text
    raw = re.sub(rb"=([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), text.encode())
    return raw.decode()


MOST_RESERVED = 64 << 20
"""Bytes for some 100,000 records."""
LEAST_RESERVED = 64 << 10
"""Bytes for some 100 records. With less, the bucket would be full before it is of use."""
RESERVED_SHARE = 16
"""The bucket asks for one part in so many of what the account may store."""


def bucket_replicas(target: Target) -> int:
    """Three where there are three peers, and the account has room for such streams. A cluster does not say how many
    peers it has."""
    tiers = target.usage.get("tiers")
    is_small = target.peers is not None and target.peers < 3
    return 1 if is_small or (tiers and "R3" not in tiers) else 3


def reserved_bytes(target: Target) -> int:
    """Bytes that one replica reserves; 0 where a stream needs no limit."""
    limits = target.limits
    if not limits.get("max_bytes_required"):
        return 0
    whole, one_stream = limits.get("max_storage", -1), limits.get("storage_max_stream_bytes") or -1
    share = max(LEAST_RESERVED, whole // RESERVED_SHARE) if whole >= 0 else MOST_RESERVED
    return min(MOST_RESERVED, share, one_stream if one_stream > 0 else MOST_RESERVED)
