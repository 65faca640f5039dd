"""What servers object to in a consumer, one line each: where, when, in which words, and with which answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from reconciler.changes.change import Change
from reconciler.changes.rule import EVER
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.fields.actions import WRITES, is_new
from reconciler.kinds.fields.words import in_words
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config
from reconciler.model.wire.version import Version


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Check:
    """One objection to a configuration as it will be sent."""

    path: str
    wrong: Callable[[Config], object]
    """Truthy if something is wrong."""
    says: str
    """`{value}` stands for the field's value."""
    fix: str
    err_code: int = 0
    """The server's answer; 0 if it answers ok to everything."""
    since: Version = EVER[0]
    """First version that refuses it."""
    reaction: Reaction = Reaction.INERT
    """What servers that do not refuse it do with it."""
    within: tuple[str, ...] = ()
    """Other fields that play a part in it."""

    def is_refused_by(self, version: Version) -> bool:
        """Does a server of this version refuse it? Without an `err_code`, none does."""
        return bool(self.err_code) and version >= self.since


def codes(checks: Iterable[Check]) -> tuple[int, ...]:
    """Error codes with which servers answer these checks, each once."""
    return tuple(dict.fromkeys(check.err_code for check in checks if check.err_code))


def objections(
    checks: tuple[Check, ...], change: Change, view: View, config: Config | None = None
) -> Iterator[Finding]:
    """What is wrong with `config`, or else with what is desired. A server judges all of it on every write. If it
    accepts something doomed, reconciler refuses it when it is new, and only mentions it when it was there before."""
    version = view.target.version
    relevant = checks if change.action in WRITES else _checks_of_live(checks, version)
    if not relevant:
        return  # nearly always where nothing changes, and thousands of times in a plan
    config = config if config is not None else change.desired.sent if change.desired else {}
    for check in relevant:
        if not check.wrong(config):
            continue
        refused = check.is_refused_by(version)
        value = in_words(config.get(check.path), FIELDS[check.path].unit)
        yield Finding(
            outcome=Outcome.REFUSED if refused or _is_our_refusal(check, change) else Outcome.WARNS,
            path=check.path,
            message=check.says.format(value=value) + ("" if refused else _doom_clause(check)),
            fix=check.fix,
            reaction=Reaction.REFUSES if refused else check.reaction,
        )


@cache
def _checks_of_live(checks: tuple[Check, ...], version: Version) -> tuple[Check, ...]:
    """Checks that a live object can fail, since this server does not refuse them."""
    return tuple(check for check in checks if not check.is_refused_by(version))


def _doom_clause(check: Check) -> str:
    if check.reaction is not Reaction.DOOMS:
        return ""
    return f"; this server accepts it, and nats-server {check.since.short} loses the consumer when it starts"


def _is_our_refusal(check: Check, change: Change) -> bool:
    """A value without effect only gets a warning; reconciler does not bring about a doomed object."""
    return check.reaction is not Reaction.INERT and is_new(change, check.path, *check.within)
