"""`reconciler explain`: what a code means, why the server cares, and what to do instead."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Annotated

import typer

from reconciler.changes.rule import Rule
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import paper, say
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES, page
from reconciler.model.policy import CODE
from reconciler.report.words.reference import other_page_text, page_text

app = common.new_app()


@app.command()
def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="A code such as ST101, or a name such as storage-change. [a list of all codes]"
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every page.")] = False,
) -> int:
    """Explain a code: what it means, why the server cares, and what to do instead."""
    rules = sorted(REGISTRY.rules(), key=lambda rule: rule.code)
    if everything and code is not None:
        raise common.Misused(f"--all explains everything; leave out {code}, or --all.")
    if everything:
        others = [other_page_text(code, other, paper()) for code, other in PAGES.items()]
        say("\n".join([*(page_text(rule, paper()) for rule in rules), *others]))
    elif code is None:
        say("".join(f"{code}  {name}\n" for code, name in _codes_and_names(rules)))
    else:
        say(_pages_text(code, rules))
    return exits.FINE


def _pages_text(code: str, rules: list[Rule]) -> str:
    pages = [page_text(rule, paper()) for rule in rules if code.upper() == rule.code or code.lower() == rule.name]
    pages += [other_page_text(number, page_, paper()) for number, page_ in PAGES.items() if code.lower() == page_.name]
    if not pages and (other := page(code.upper())):
        return other_page_text(code.upper(), other, paper())
    if not pages:
        raise common.Misused(_unknown_code_message(code, rules))
    return "\n".join(pages)


def _codes_and_names(rules: list[Rule]) -> list[tuple[str, str]]:
    return [*((rule.code, rule.name) for rule in rules), *((code, page_.name) for code, page_ in PAGES.items())]


def _unknown_code_message(code: str, rules: list[Rule]) -> str:
    if re.fullmatch(CODE, code.upper()):
        return (
            f"{code} is no code of reconciler's own; it may be a policy's. What that forbids, and what helps, stands where the "
            "files declare it under `policies`."
        )
    words = {word for entry in _codes_and_names(rules) for word in entry}
    close = get_close_matches(code.upper(), words, n=3) or get_close_matches(code.lower(), words, n=3)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"There is no code or name {code}.{meant} `reconciler explain` lists all of them."
