"""Pages of codes on a screen, each ending with the address of its longer page in the documentation."""

from __future__ import annotations

from reconciler.changes.rule import Rule
from reconciler.model.code_pages import Page, rule_url
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.report.words.paper import Paper


def page_text(rule: Rule, paper: Paper) -> str:
    """Return a rule's page for a terminal, with the actions and versions it judges and what the server itself does."""
    lines = [f"{rule.code} {rule.name}", "", *_wrapped_page(rule.doc, paper), "", *paper.wrapped(judged_on_line(rule))]
    lines += paper.wrapped(f"The server itself {reaction_text(rule)}.")
    return "\n".join([*lines, "", _read_more_line(rule.code)]) + "\n"


def other_page_text(code: str, other: Page, paper: Paper) -> str:
    """Return the page of a code that belongs to no rule: what it means, and what to do instead."""
    way_out = f"Instead: {other.instead}."
    lines = [f"{code} {other.name}", "", *_wrapped_page(other.means, paper), "", *_wrapped_page(way_out, paper)]
    return "\n".join([*lines, "", _read_more_line(code)]) + "\n"


def _read_more_line(code: str) -> str:
    """Return the address of the longer page; what all kinds share under `?` is the same on the page of each."""
    return f"Read more: {rule_url(code.replace('?', 'XX'))}"


def judged_on_line(rule: Rule) -> str:
    """Say which actions and server versions a rule judges: `Judged on: create, update; nats-server from 2.12.`"""
    return f"Judged on: {_action_names(rule)}; nats-server {versions_text(rule)}."


def _action_names(rule: Rule) -> str:
    return ", ".join(sorted(action.value for action in rule.on))


def reaction_text(rule: Rule) -> str:
    """Say what the server does with what the rule flags, with the `err_code`s of its answer, if any."""
    codes = f" (err_code {', '.join(map(str, rule.err_codes))})" if rule.err_codes else ""
    return f"{rule.reaction}{codes}"


def versions_text(rule: Rule) -> str:
    """Say which server versions a rule judges: `from 2.12 before 2.14`, either half alone, or `of any supported
    version`."""
    since = f"from {rule.since.short}" if rule.since > SUPPORTED[0] else ""
    until = f"before {rule.until.short}" if rule.until < Version(900, 0) else ""
    return " ".join(filter(None, (since, until))) or "of any supported version"


def _wrapped_page(doc: str, paper: Paper) -> list[str]:
    """Wrap paragraphs to the screen; indented lines are examples and stay as they are."""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        text = paragraph if _is_example(paragraph) else " ".join(paragraph.split())
        lines += [*([""] if lines else []), *paper.paragraphs(text)]
    return lines


def _is_example(paragraph: str) -> bool:
    return any(line.startswith(" ") for line in paragraph.splitlines())
