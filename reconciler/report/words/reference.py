"""Pages of codes: one on a screen, or all of them as a book in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.rule import Rule
from reconciler.model.pages import CHAPTERS, Page
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.report.words.paper import Paper

HUNDREDS = (
    "1xx fixed at creation, 2xx one-way or about neighbours, 3xx loses data or position, 4xx needs a server version, "
    "5xx invalid."
)


def page_text(rule: Rule, paper: Paper) -> str:
    """Return a rule's page for a terminal, with the actions and versions it judges and what the server itself does."""
    lines = [f"{rule.code} {rule.name}", "", *_wrapped(rule.doc, paper), "", *paper.wrapped(judged_on(rule))]
    return "\n".join([*lines, *paper.wrapped(f"The server itself {reaction(rule)}.")]) + "\n"


def other_page_text(code: str, other: Page, paper: Paper) -> str:
    """Return the page of a code that belongs to no rule: what it means, and what to do instead."""
    way_out = f"Instead: {other.instead}."
    lines = [f"{code} {other.name}", "", *_wrapped(other.means, paper), "", *_wrapped(way_out, paper)]
    return "\n".join(lines) + "\n"


def book(rules: Sequence[Rule], families: Mapping[str, str]) -> str:
    """Return every rule by family, with their headings, then every other code by topic."""
    lines = ["# Rules and other codes", "", "Written by `reconciler explain --all --format markdown`.", "", HUNDREDS]
    for family, title in families.items():
        lines += ["", f"## {title} ({family})", "", *_table(rule for rule in rules if rule.code.startswith(family))]
        for rule in rules:
            if rule.code.startswith(family):
                lines += ["", *_section(rule)]
    for title, pages in CHAPTERS.items():
        lines += ["", f"## {title}", "", "| code | name | means | instead |", "|---|---|---|---|"]
        lines += [f"| {code} | {one.name} | {_cell(one.means)} | {_cell(one.instead)} |" for code, one in pages.items()]
    return "\n".join(lines) + "\n"


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    yield "| code | name | on | nats-server | the server itself |"
    yield "|---|---|---|---|---|"
    for rule in rules:
        link = f"[{rule.code}](#{rule.code.lower()}-{rule.name})"
        yield f"| {link} | {rule.name} | {_actions(rule)} | {versions(rule)} | {_cell(reaction(rule))} |"


def _section(rule: Rule) -> Iterator[str]:
    yield f"### {rule.code} {rule.name}"
    for paragraph in rule.doc.split("\n\n"):
        yield ""
        yield paragraph if _is_example(paragraph) else _escaped(" ".join(paragraph.split()))
    yield ""
    yield f"{judged_on(rule)} The server itself {reaction(rule)}."


def judged_on(rule: Rule) -> str:
    """Say which actions and server versions a rule judges: `Judged on: create, update; nats-server from 2.12.`"""
    return f"Judged on: {_actions(rule)}; nats-server {versions(rule)}."


def _actions(rule: Rule) -> str:
    return ", ".join(sorted(action.value for action in rule.on))


def reaction(rule: Rule) -> str:
    """Say what the server does with what the rule flags, with the `err_code`s of its answer, if any."""
    codes = f" (err_code {', '.join(map(str, rule.err_codes))})" if rule.err_codes else ""
    return f"{rule.reaction}{codes}"


def versions(rule: Rule) -> str:
    """Say which server versions a rule judges: `from 2.12 before 2.14`, either half alone, or `of any supported
    version`."""
    since = f"from {rule.since.short}" if rule.since > SUPPORTED[0] else ""
    until = f"before {rule.until.short}" if rule.until < Version(900, 0) else ""
    return " ".join(filter(None, (since, until))) or "of any supported version"


def _wrapped(doc: str, paper: Paper) -> list[str]:
    """Wrap paragraphs to the screen; indented lines are examples and stay as they are."""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        text = paragraph if _is_example(paragraph) else " ".join(paragraph.split())
        lines += [*([""] if lines else []), *paper.paragraphs(text)]
    return lines


def _is_example(paragraph: str) -> bool:
    return any(line.startswith(" ") for line in paragraph.splitlines())


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Escape `*` and `<`, which outside code would be Markdown."""
    parts = text.split("`")
    parts[::2] = [part.replace("*", "\\*").replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)
