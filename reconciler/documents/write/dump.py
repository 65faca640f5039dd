"""Writes a topology file: keys in the given order, quotes where they are needed; `load` reads it back equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from reconciler.documents.fill.values import escape_mentions
from reconciler.documents.parse.plain_values import resolve
from reconciler.documents.parse.tree import FORBIDDEN
from reconciler.documents.read.header import FORMAT
from reconciler.model.resource import Json

WIDTH = 100
"""Lists, and the mappings in them, stay on one line while they fit."""
LONGEST_KEY = 1000
"""The parser takes a longer key only after `? `."""

_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`=<~")
_NEEDS_QUOTES = re.compile(r": |:$| #|[,\[\]{}\"\n\r\t\\]|^ | $|^(?:---|\.\.\.)|^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+$")
_SPECIAL_IN_FLOW = frozenset(":?")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_UNSEEN = re.compile(
    f"{FORBIDDEN.pattern}|[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that no file may hold, that are invisible, or that turn the text around: written out by number."""
_ESCAPED = re.compile(f'{_UNSEEN.pattern}|["\\\\\n\t\r]')


def dump(topology_name: str, sections: Mapping[str, Json]) -> str:
    """Return the text of a topology file. Sections are plain nested mappings; empty ones are left out."""
    blocks = [f"reconciler: {FORMAT}\ntopology: {scalar_text(topology_name)}\n"]
    blocks += ["\n".join(_entry_lines(key, value, "")) + "\n" for key, value in sections.items() if value]
    return "\n".join(blocks)


def scalar_text(value: Json, *, in_flow: bool = False) -> str:
    """Return one value as YAML; text is quoted when it would be read as anything but itself."""
    if isinstance(value, str):
        # Inside brackets the parser takes every colon for the end of a key, and stumbles over question marks.
        value = escape_mentions(value)
        return value if _is_plain(value) and not (in_flow and _SPECIAL_IN_FLOW & set(value)) else double_quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else repr(value)


def double_quoted(text: str) -> str:
    """Return the text in double quotes, with invisible and forbidden characters escaped."""
    return '"' + _ESCAPED.sub(lambda match: _escape(match[0]), text) + '"'


def _escape(character: str) -> str:
    number = ord(character)
    if number > 0xFFFF:
        return f"\\U{number:08x}"
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def _is_plain(text: str) -> bool:
    if not text or text[0] in _INDICATORS or _NEEDS_QUOTES.search(text) or _UNSEEN.search(text):
        return False
    return resolve(text) == text and isinstance(resolve(text), str)


def _entry_lines(key: str, value: Json, indent: str) -> Iterator[str]:
    """`key: value`: a mapping as an indented block, a list on one line where it fits."""
    written = scalar_text(str(key))
    head, colon = (f"{indent}{written}", ":") if len(written) < LONGEST_KEY else (f"{indent}? {written}\n{indent}", ":")
    if isinstance(value, Mapping) and value:
        yield head + colon
        for name, below in value.items():
            yield from _entry_lines(name, below, indent + "  ")
    elif is_list(value) and value and not _is_within_width(flow_text(value), len(indent) + len(written)):
        yield head + colon
        for item in value:
            yield from _item_lines(item, indent + "  ")
    else:
        yield f"{head}{colon} {_one_line(value)}"


def _one_line(value: Json) -> str:
    return flow_text(value) if is_list(value) or isinstance(value, Mapping) else scalar_text(value)


def _item_lines(value: Json, indent: str) -> Iterator[str]:
    written = _one_line(value)
    if not (isinstance(value, Mapping) and value) or _is_within_width(written, len(indent)):
        yield f"{indent}- {written}"
        return
    lines = [line for key, below in value.items() for line in _entry_lines(key, below, indent + "  ")]
    yield f"{indent}- {lines[0][len(indent) + 2 :]}"
    yield from lines[1:]


def flow_text(value: Json) -> str:
    """Return the value on a single line: `{max_age: 7d, subjects: [a, b]}`."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow_key(key)}: {flow_text(below)}" for key, below in value.items()) + "}"
    if is_list(value):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    return scalar_text(value, in_flow=True)


def _flow_key(key: str) -> str:
    written = scalar_text(str(key), in_flow=True)
    return written if len(written) < LONGEST_KEY else f"? {written} "


def is_list(value: Json) -> bool:
    """Is it a list, and not a text?"""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_within_width(text: str, before: int) -> bool:
    return before + len(text) + 2 <= WIDTH
