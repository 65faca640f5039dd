"""Makes text safe to show: characters that a terminal would obey or hide become visible.

Names, subjects, descriptions and metadata come from anybody who may write to the account, so none of them is trusted.
"""

from __future__ import annotations

import re
import unicodedata

_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: escapes, bells, carriage returns
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or turns text around
    "\ud800-\udfff\U000e0000-\U000e007f]"  # half characters, tags
)


def visible(text: str) -> str:
    """Write out every control character of a text (`\\x1b`), on one line."""
    return text if text.isascii() and text.isprintable() else _OBEYED.sub(_escape_sequence, text)


def _escape_sequence(match: re.Match[str]) -> str:
    code = ord(match[0])
    named = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}.get(code)
    if named:
        return named
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_COMMAND = re.compile(r"^(\s*)::", re.MULTILINE)


def inert(text: str) -> str:
    """Make lines safe for a GitHub runner, which obeys `::` at the beginning of a line, and `##[` anywhere."""
    return _COMMAND.sub(r"\1\\::", text).replace("##[", "##\\[")


def lines_visible(text: str) -> str:
    """Keep lines as lines, and make each of them visible."""
    return "\n".join(map(visible, text.split("\n")))


def columns(text: str) -> int:
    """Count the columns of a terminal that this text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int) -> str:
    """Add spaces up to `width` columns of a terminal; a wider text stays as it is."""
    return text + " " * (width - columns(text))
