"""What differs from run to run is covered before a page is compared with what a command printed."""

from __future__ import annotations

import re

MASKS = (
    (re.compile(r"\b(in|after) (about )?\d+(\.\d+)? m?s\b"), r"\1 T s"),
    (re.compile(r"\b\d+\.\d+ s\b"), "T s"),
    (re.compile(r"█+[▏▎▍▌▋▊▉]? [\d.]+ [KMG]?i?B\b"), "SIZE"),
    (re.compile(r"nats-server (\d+\.\d+)\.\d+"), r"nats-server \1.N"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?=\), and not)"), "DAY"),
    (re.compile(r"\b\d{8}T\d{6}(\.\d+)?Z\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"\bgit [0-9a-f]{7,40}\b"), "git HASH"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\b\d+(\.\d+)? (s|m|min|h|seconds?) ago\b"), "a moment ago"),
    (re.compile(r"\brun \d{4}-\d\d-\d\d\b"), "run DAY"),
    (re.compile(r"Java \d+ from \w+"), "Java"),
    (re.compile(r"process \d+"), "process N"),
)


def masked(line: str) -> str:
    """The line without what no two runs share; how far columns are apart does not count."""
    for pattern, stands in MASKS:
        line = pattern.sub(stands, line)
    return re.sub(r"(?<=\S) {2,}", "  ", line.rstrip())


def agrees(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Whether a page shows what was printed; a line of `...` stands for any number of lines."""
    return _agrees(_lines(shown), _lines(printed))


def _lines(said: tuple[str, ...]) -> list[str]:
    """Without empty ones at the end, which set commands of one block apart."""
    return "\n".join(masked(line) for line in said).rstrip("\n").split("\n")


def _agrees(shown: list[str], printed: list[str]) -> bool:
    if "..." not in shown:
        return shown == printed
    cut = shown.index("...")
    if shown[:cut] != printed[:cut]:
        return False
    rest = shown[cut + 1 :]
    return not rest or any(_agrees(rest, printed[n:]) for n in range(cut, len(printed) + 1))
