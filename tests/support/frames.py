"""The protocol between a NATS client and a server, cut into whole commands."""

from __future__ import annotations

from collections.abc import Iterator

SIZED = {b"PUB", b"HPUB", b"MSG", b"HMSG"}
"""Commands whose last word says how many bytes follow."""


class Frames:
    """A stream of bytes, command by command."""

    def __init__(self) -> None:
        self._rest = b""

    def of(self, chunk: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
        """Each command with its payload, and the words of its first line."""
        self._rest += chunk
        while (end := self._rest.find(b"\r\n")) >= 0:
            words = self._rest[:end].split()
            size = end + 2 + (int(words[-1]) + 2 if words and words[0].upper() in SIZED else 0)
            if len(self._rest) < size:
                return
            frame, self._rest = self._rest[:size], self._rest[size:]
            yield frame, words
