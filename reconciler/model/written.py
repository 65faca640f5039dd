"""Raw values as they stand in files: `1h`, `20GiB`, `[1s, 5m]`, `{max_ack_pending: 1_000}`. Read back, they are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json
from reconciler.model.units import show_bytes, show_duration, show_number

_PLAIN = re.compile(r"(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z_/$][\w./*>$@+=()-]*", re.ASCII | re.IGNORECASE)


def quoted(text: str) -> str:
    """A text as a file writes it, also between braces."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def written_value(value: Json, info: FieldInfo) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        inside = (f"{quoted(key)}: {written_value(below, info.inside([key]))}" for key, below in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(written_value(item, _of_item(info)) for item in value)}]"
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value) if value is None or isinstance(value, bool) else show_number(value, info.unit)


def in_units(value: Json, info: FieldInfo) -> Json:
    """The data that a file holds for a raw value: durations and sizes are texts, as far as a unit fits them."""
    if isinstance(value, Mapping):
        return {key: in_units(below, info.inside([key])) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [in_units(item, _of_item(info)) for item in value]
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if info.unit == "duration" and value >= 0:
        return show_duration(value)
    text = show_bytes(value) if info.unit == "bytes" else ""
    return text if text[-1:] == "B" else value


_EACH = FieldInfo(unit="duration")


def _of_item(info: FieldInfo) -> FieldInfo:
    return _EACH if info.unit == "durations" else info
