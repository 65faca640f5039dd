"""Versions of nats-server, and those that are supported."""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """A nats-server version; pre-release suffixes are ignored, since the rules change with releases."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Version:
        """`2.12`, `2.12.8`, `v2.14.0-RC.1`."""
        numbers = text.strip().removeprefix("v").split("-")[0].split("+")[0].split(".")
        try:
            major, minor, patch = [*(int(n) for n in numbers), 0, 0][:3]
        except ValueError:
            raise ValueError(f'`{text}` is not a server version; write for example 2.12.8 or "2.12"') from None
        return cls(major, minor, patch)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def short(self) -> str:
        """`2.12`, and `2.12.5` where the patch says something: neither the first one nor the newest to come."""
        return str(self) if 0 < self.patch < 999 else f"{self.major}.{self.minor}"


SUPPORTED = (Version(2, 11), Version(2, 12), Version(2, 14), Version(2, 15))
"""First patch of each supported minor; older and newer minors are judged by the rules of the nearest."""


def unsupported_version_sentence(version: Version) -> str:
    """Return by which rules a version is judged that is older or newer than those supported; nothing for one of them."""
    oldest, newest = SUPPORTED[0], SUPPORTED[-1]
    if oldest <= version and version[:2] <= newest[:2]:
        return ""
    how, nearest = ("older", oldest) if version < oldest else ("newer", newest)
    return f"nats-server {version.short} is {how} than the versions known here; this uses the rules of {nearest.short}."
