"""Permissions in the form that their reader needs: a block for nats-server's configuration or nsc commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby

from reconciler.model.wire.permissions import Need, Needs
from reconciler.report.words.visible import visible


def config_block(needs: Needs, title: str) -> str:
    """Return a block to put as it is into a user's entry, `{user: ci, password: …, permissions { … }}`."""
    lines = [
        f"# {visible(title)}",
        "permissions {",
        "  publish {",
        "    allow: [",
        *_entry_lines(needs.publish),
        "    ]",
    ]
    lines += ["  }", "  subscribe {", "    allow: [", *_entry_lines(needs.subscribe), "    ]", "  }", "}"]
    return "\n".join(lines) + "\n"


def _entry_lines(needs: Iterable[Need]) -> Iterator[str]:
    for why, some in groupby(needs, key=lambda need: need.why):
        yield f"      # {why}"
        yield from (f"      {quoted(need.subject)}" for need in some)


def quoted(subject: str) -> str:
    """Quote a string for nats-server's configuration, which has escapes for bytes (`\\xNN`) but no other numeric
    escapes."""
    return '"' + "".join(_escaped_character(character) for character in subject) + '"'


def _escaped_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if visible(character) == character:
        return character
    return "".join(f"\\x{byte:02X}" for byte in character.encode())


def nsc_lines(needs: Needs, title: str, user: str) -> str:
    """Return one command with an option per subject, because commas in a list would need escapes."""
    flags = [("--allow-pub", need.subject) for need in needs.publish]
    flags += [("--allow-sub", need.subject) for need in needs.subscribe]
    commands = [
        f"nsc edit user --name {_quoted_for_shell(user)}",
        *(f"  {flag} {_quoted_for_shell(_with_escaped_commas(s))}" for flag, s in flags),
    ]
    return f"# {visible(title)}\n" + " \\\n".join(commands) + "\n"


def _with_escaped_commas(subject: str) -> str:
    """Escape commas: nsc reads each option as comma-separated values."""
    return '"' + subject.replace('"', '""') + '"' if any(c in subject for c in ',"') else subject


def _quoted_for_shell(text: str) -> str:
    if visible(text) == text:
        return shlex.quote(text)
    written = (c if visible(c) == c and c not in "'\\" else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text)
    return "$'" + "".join(written) + "'"
