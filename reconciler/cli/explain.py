"""`reconciler explain`: what a code means, why the server cares, what to do instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from reconciler.cli import common, exits
from reconciler.cli.screen import paper, say
from reconciler.core.pages import PAGES, Page, page
from reconciler.core.rule import Rule
from reconciler.core.wire import Version
from reconciler.kinds import REGISTRY

app = common.app()


@app.command()
def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="ST101, or a rule's name; left out: all codes.")
    ] = None,
) -> int:
    """Say what a code means, why the server cares, and what to do instead."""
    rules = sorted(REGISTRY.rules(), key=lambda rule: rule.code)
    if code is None:
        listed = [(rule.code, rule.name) for rule in rules] + [(code, one.name) for code, one in PAGES.items()]
        say("\n".join(f"{code}  {name}" for code, name in listed) + "\n")
        return exits.FINE
    wanted = [rule for rule in rules if code.upper() == rule.code or code.lower() == rule.name]
    if not wanted and (other := page(code.upper())):
        say(_other_page(code.upper(), other))
        return exits.FINE
    if not wanted:
        raise common.Misused(_unknown(code, rules))
    say("\n".join(_page(rule) for rule in wanted))
    return exits.FINE


def _other_page(code: str, other: Page) -> str:
    lines = [f"{code} {other.name}", "", *_wrapped(other.means), "", *_wrapped(f"Instead: {other.instead}.")]
    return "\n".join(lines) + "\n"


def _unknown(code: str, rules: list[Rule]) -> str:
    known = [word for rule in rules for word in (rule.code, rule.name)]
    close = get_close_matches(code.upper(), known, n=3) or get_close_matches(code.lower(), known, n=3)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"There is no rule {code}.{meant} `reconciler explain` lists all of them."


def _page(rule: Rule) -> str:
    lines = [f"{rule.code} {rule.name}", "", *_wrapped(rule.doc), ""]
    on = ", ".join(sorted(action.value for action in rule.on))
    lines.append(f"Judged on: {on}; nats-server {_versions(rule)}.")
    codes = f" (err_code {', '.join(map(str, rule.err_codes))})" if rule.err_codes else ""
    lines.append(f"The server itself {rule.reaction}{codes}.")
    return "\n".join(lines) + "\n"


def _wrapped(doc: str) -> list[str]:
    """Paragraphs as wide as the screen; indented lines are examples and stay as they are."""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        is_example = any(line.startswith(" ") for line in paragraph.splitlines())
        text = paragraph if is_example else " ".join(paragraph.split())
        lines += [*([""] if lines else []), *paper().paragraphs(text)]
    return lines


def _versions(rule: Rule) -> str:
    since = f"from {_minor(rule.since)}" if rule.since > Version(0, 0) else ""
    until = f"before {_minor(rule.until)}" if rule.until < Version(900, 0) else ""
    return " ".join(filter(None, (since, until))) or "of every supported version"


def _minor(version: Version) -> str:
    return f"{version.major}.{version.minor}" if version.patch == 0 else str(version)
