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

app = common.app()


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
        others = [other_page_text(code, one, paper()) for code, one in PAGES.items()]
        say("\n".join([*(page_text(rule, paper()) for rule in rules), *others]))
    elif code is None:
        say("".join(f"{code}  {name}\n" for code, name in _all(rules)))
    else:
        say(_pages(code, rules))
    return exits.FINE


def _pages(code: str, rules: list[Rule]) -> str:
    found = [page_text(rule, paper()) for rule in rules if code.upper() == rule.code or code.lower() == rule.name]
    found += [other_page_text(number, one, paper()) for number, one in PAGES.items() if code.lower() == one.name]
    if not found and (other := page(code.upper())):
        return other_page_text(code.upper(), other, paper())
    if not found:
        raise common.Misused(_unknown(code, rules))
    return "\n".join(found)


def _all(rules: list[Rule]) -> list[tuple[str, str]]:
    return [*((rule.code, rule.name) for rule in rules), *((code, one.name) for code, one in PAGES.items())]


def _unknown(code: str, rules: list[Rule]) -> str:
    if re.fullmatch(CODE, code.upper()):
        return (
            f"{code} is no code of reconciler's own; it may be a policy's. What that forbids, and what helps, stands where the "
            "files declare it under `policies`."
        )
    known = {word for one in _all(rules) for word in one}
    close = get_close_matches(code.upper(), known, n=3) or get_close_matches(code.lower(), known, n=3)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"There is no code or name {code}.{meant} `reconciler explain` lists all of them."
