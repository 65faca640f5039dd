"""Ours beside the server's: agreed, stricter on purpose, or a disagreement; and which rules an agreement hangs on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from reconciler.changes.rule import Rule
from reconciler.changes.verdict import Reaction, Verdict
from reconciler.kinds import REGISTRY
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.pipeline import NoAnswer
from tests.agreement.case import Case
from tests.agreement.rooms import HIDDEN
from tests.agreement.running import Outcome

RULES: Mapping[str, Rule] = {rule.code: rule for rule in REGISTRY.rules()}

STRICTER_AT_LOAD: Mapping[tuple[str, str], str] = {
    ("ST502", "discard"): "the one text that servers read in any letter case; every client library refuses it",
    ("CO502", "sample_freq"): "an empty text says nothing; whoever writes it means a number",
}
"""Complaints (code and field) about what a server would take, with the harm."""


NOBODY_KNOWS: Mapping[int, str] = {
    10005: "which peers of a cluster are there, with which tags, and have room",
}
"""Refusals for reasons that no account can see."""

HIDDEN_KNOWS: Mapping[int, str] = {
    10052: "a duplicate window beyond the server's own limit",
    10121: "more pending acknowledgements than the server's own limit",
    10125: "larger batches than the server's own limit",
}
"""Refusals by settings of the server that no API shows; in the room that has such."""

UNSEEN = '"subject_transforms": []'
"""A mirror made with this takes no update until a restart, and no echo shows it (2.12 and later)."""


class Kind(StrEnum):
    UNBORN = "could not be made"
    NOTHING = "nothing to write"
    AGREED = "agreed"
    STRICTER = "stricter on purpose"
    UNKNOWABLE = "nobody could know"
    DISAGREED = "disagreed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    kind: Kind
    why: str = ""
    by: tuple[str, ...] = ()
    """Codes of the rules it comes from."""


def judgement(one: Outcome, without: str = "") -> Judgement:
    """`without`: as if this rule had been left out."""
    ours = one.ours
    if one.unborn or ours is None:
        return Judgement(kind=Kind.UNBORN, why=one.unborn)
    blocking = [v for v in ours.blocking if v.code != without]
    if one.answer is None and ours.complaints:
        return Judgement(kind=Kind.DISAGREED, why=f"the file is refused: {_plain(ours.complaints[0].message)}")
    if one.answer is None:
        return Judgement(kind=Kind.NOTHING, by=tuple(v.code for v in blocking))
    if isinstance(one.answer, NoAnswer):
        return Judgement(kind=Kind.DISAGREED, why=f"no answer: {one.answer}")
    if isinstance(one.answer, Refusal):
        return _refused(one, one.answer, blocking)
    return _accepted(one, blocking)


def _refused(one: Outcome, answer: Refusal, blocking: list[Verdict]) -> Judgement:
    assert one.ours
    if one.ours.complaints:
        return Judgement(kind=Kind.AGREED, by=tuple({c.code for c in one.ours.complaints}))
    matching = {
        v.code for v in blocking if v.reaction is Reaction.REFUSES and answer.err_code in RULES[v.code].err_codes
    }
    if matching or (one.ours.waits and answer.err_code == 10059):
        return Judgement(kind=Kind.AGREED, by=tuple(sorted(matching)))
    if _is_unknowable(one.case, answer.err_code):
        return Judgement(kind=Kind.UNKNOWABLE)
    return Judgement(kind=Kind.DISAGREED, why=f"the server refuses: {_plain(str(answer))}; we say {_said(blocking)}")


def _is_unknowable(case: Case, err_code: int) -> bool:
    if err_code == 10055:
        return UNSEEN in json.dumps([live.body for live in case.live])
    return err_code in NOBODY_KNOWS or (case.room == HIDDEN and err_code in HIDDEN_KNOWS)


def _accepted(one: Outcome, blocking: list[Verdict]) -> Judgement:
    ours = one.ours
    assert ours
    strange = sorted({c.code for c in ours.complaints if (c.code, c.message.split()[0]) not in STRICTER_AT_LOAD})
    if strange:
        said = "; ".join(_plain(c.message) for c in ours.complaints)
        return Judgement(
            kind=Kind.DISAGREED, why=f"the server takes it; the file is refused by {', '.join(strange)}: {said}"
        )
    if refusing := [v for v in blocking if v.reaction is Reaction.REFUSES]:
        return Judgement(kind=Kind.DISAGREED, why=f"the server takes it; we say {_said(refusing)}")
    by = tuple(sorted({v.code for v in blocking} | {c.code for c in ours.complaints}))
    doomed = {v.code for v in blocking if v.reaction is Reaction.DOOMS}
    if one.lost and not doomed and not by and not ours.waits:
        return Judgement(kind=Kind.DISAGREED, why=f"after a restart {_plain('; '.join(one.lost))}")
    if by or ours.waits:
        return Judgement(kind=Kind.STRICTER, by=by or ("waits",))
    if one.surprises:
        return Judgement(kind=Kind.DISAGREED, why=f"not as foretold: {_plain('; '.join(one.surprises))}")
    return Judgement(kind=Kind.AGREED)


def needed(one: Outcome) -> set[str]:
    """Rules without which this very case would disagree."""
    if one.ours is None or judgement(one).kind not in (Kind.AGREED, Kind.STRICTER):
        return set()
    return {v.code for v in one.ours.blocking if judgement(one, without=v.code).kind is Kind.DISAGREED}


def _said(verdicts: list[Verdict]) -> str:
    return ", ".join(sorted({f"{v.code} {v.reaction.name}" for v in verdicts})) or "nothing"


def _plain(text: str) -> str:
    """Without the names of the case, so that equal ones are counted together."""
    return re.sub(r"\bc\d+(?=[A-Z._]|\b)", "@", text)[:300]
