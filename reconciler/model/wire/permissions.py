"""What a user may publish to and subscribe to, as nats-server judges it, and what it would have to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json


class Purpose(StrEnum):
    """What a user is to do."""

    PLAN = "plan"
    APPLY = "apply"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One subject that something is asked at or written to."""

    subject: str
    why: str
    """What does not work without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """All that one purpose takes."""

    publish: tuple[Need, ...]
    subscribe: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """Subjects one may publish to: those allowed (none named: all) that are not denied."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def permits(self, subject: str) -> bool:
        """May one publish to it? A deny beats every allow. Of a wildcard, one that takes away a part leaves the
        rest."""
        allowed = not self.allow or any(covers(pattern, subject) for pattern in self.allow)
        return allowed and not any(covers(pattern, subject) for pattern in self.deny)


def parse_permissions(data: Mapping[str, Json]) -> Granted | None:
    """Read the answer of `$SYS.REQ.USER.INFO`; None: it does not tell. Without `permissions` there are no bounds."""
    if "user" not in data:
        return None
    publish = (data.get("permissions") or {}).get("publish") or {}
    return Granted(allow=tuple(publish.get("allow") or ()), deny=tuple(publish.get("deny") or ()))


def covers(pattern: str, subject: str) -> bool:
    """Does the pattern match everything that `subject` matches?"""
    wide, narrow = pattern.split("."), subject.split(".")
    for index, token in enumerate(wide):
        if token == ">":
            return len(narrow) > index
        if index >= len(narrow) or (token != "*" and token != narrow[index]) or narrow[index] == ">":
            return False
    return len(wide) == len(narrow)


_IN_DOMAIN = re.compile(r"\$JS\.[^.]+\.API\.", re.IGNORECASE)


def subject_in_its_domain(subject: str) -> str:
    """Return what is judged: a server of the domain itself maps `$JS.hub.API.INFO` to `$JS.API.INFO` first, and judges
    only that."""
    match = _IN_DOMAIN.match(subject)
    if match is None:
        return subject
    rest = subject[match.end() :]
    return rest if rest.upper().startswith("$KV.") else f"$JS.API.{rest}"


def missing_needs(needs: Iterable[Need], may: Granted) -> tuple[Need, ...]:
    """Return the needs that are not granted. Which of two names of a domain's subject is judged depends on the server
    connected to: either counts."""
    return tuple(
        need for need in needs
        if not (may.permits(need.subject) or may.permits(subject_in_its_domain(need.subject)))
    )  # fmt: skip


def minimal_needs(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Return each once, and none that another one covers; what is for the same purpose stands together."""
    by_subject: dict[str, Need] = {}
    for need in needs:
        by_subject.setdefault(need.subject, need)
    purposes = list(dict.fromkeys(need.why for need in by_subject.values()))
    wide = [subject for subject in by_subject if "*" in subject or ">" in subject]
    narrowest = (n for n in by_subject.values() if not any(covers(o, n.subject) for o in wide if o != n.subject))
    return tuple(sorted(narrowest, key=lambda need: (purposes.index(need.why), need.subject)))
