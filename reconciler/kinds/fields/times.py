"""Points in time in one spelling: RFC 3339 in UTC, without trailing zeros, as nats-server prints them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")

ZERO = "0001-01-01T00:00:00Z"
"""What the server prints for "no time"."""


def in_utc(text: str) -> str:
    """`2026-03-01T10:00:00.500+02:00` → `2026-03-01T08:00:00.5Z`; nanoseconds are kept, ValueError if it is not a
    time."""
    match = _RFC3339.fullmatch(text)
    if not match:
        raise ValueError(text)
    day, clock, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}") - _offset(zone)
    digits = (fraction or "")[:9].rstrip("0")
    return moment.isoformat() + (f".{digits}" if digits else "") + "Z"


def moment(text: str) -> datetime:
    """A time as a server prints it, to the microsecond. Its clock speaks UTC; what a client wrote keeps its offset."""
    return datetime.fromisoformat(text).astimezone(UTC)


def time_before(text: str, nanoseconds: int) -> str:
    """The time this long before, as the server writes it."""
    earlier = moment(text) - timedelta(microseconds=nanoseconds // 1000)
    return earlier.replace(tzinfo=None).isoformat() + "Z"


def nanoseconds_between(earlier: str, later: str) -> int:
    """Nanoseconds from one time of the server's to another."""
    return int((moment(later) - moment(earlier)) / timedelta(microseconds=1)) * 1000


def _offset(zone: str) -> timedelta:
    if zone in "Zz":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


def parse_time(value: Any) -> str:
    """A time as people write it. YAML readers may already have made a datetime of it; without a zone it is UTC."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    try:
        return in_utc(value)
    except (ValueError, TypeError, OverflowError):
        advice = "`{value}` is not a time; write 2026-03-01T08:00:00Z, or with an offset such as +02:00"
        raise PydanticCustomError("wrong_value", advice, {"value": str(value)}) from None


Time = Annotated[str, BeforeValidator(parse_time), WithJsonSchema({"type": "string", "format": "date-time"})]
