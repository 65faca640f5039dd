"""How documents report that something is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.spelling import meant_choice


def complain(
    code: str, name: str, message: str, span: SourceSpan | None, *, address: str | None = None, fix: str | None = None
) -> Diagnostic:
    """Return an error about a place in a file; `span` is None where no single place is to blame."""
    severity = Severity.ERROR
    return Diagnostic(severity=severity, code=code, name=name, message=message, address=address, span=span, fix=fix)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `; did you mean `subjects`?`, or nothing."""
    guess = meant_choice(word, choices)
    return f"; did you mean `{guess}`?" if guess else ""


def listed(words: Iterable[str]) -> str:
    """Return `limits`, `interest` or `workqueue`."""
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}" if quoted else "nothing"


def phrase(path: str, message: str) -> str:
    """Join `max_age` and "`7 fortnights` is not a duration" to one sentence; a message may begin with `:`."""
    return f"{path}{message if message[:1] == ':' else ' ' + message}" if path else message.removeprefix(":").lstrip()
