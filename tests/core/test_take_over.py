"""Whose it becomes: only what is declared, renamed or removed here, only from the owner that was named, only while the entry counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from reconciler.changes.change import Action, Change
from reconciler.engine.pairing.take_over import take_over_records, unused_take_overs, with_new_records
from reconciler.model.diagnostic import Severity
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Declared, Terms
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Moved, Removed, Topology

TODAY = date(2026, 6, 1)
A, B, C = (Address.of("stream", name) for name in "ABC")


class External(Terms):
    """A kind of which the file may say that somebody else manages it."""

    external: bool


def topology(*moved: Moved) -> Topology:
    """It declares A and removes B."""
    return Topology(
        name="mine", resources=(Declared(address=A, spec=Terms()),), removed=(Removed(address=B, reason="r"),), moved=moved,
    )  # fmt: skip


def renamed(old: str, **more: Any) -> Moved:
    return Moved(origin=Address.of("topology", old), address=Address.of("topology", "mine"), **more)


def owned(owner: str, **more: Any) -> Owned:
    return Owned(topology=owner, **more)


def owners(found: dict[Address, Owned]) -> dict[str, tuple[str, str]]:
    return {address.name: (one.topology, one.taken_from) for address, one in found.items()}


def told(take_over: tuple[str, ...] = (), **more: Any) -> RunOptions:
    return RunOptions(take_over=take_over, today=TODAY, **more)


LEDGER = {A: owned("other", source="theirs"), B: owned("other"), C: owned("other")}


def test_without_a_word_nothing_changes_hands() -> None:
    assert take_over_records(topology(), LEDGER, told()) == LEDGER


def test_what_is_declared_or_removed_here_is_taken_from_the_owner_that_was_named() -> None:
    found = take_over_records(topology(), LEDGER, told(("other",)))
    assert owners(found) == {"A": ("mine", "other"), "B": ("mine", "other"), "C": ("other", "")}
    assert found[A].source is None, "whoever applies it next says where it comes from"


def test_what_only_stands_around_what_is_declared_is_not_taken() -> None:
    around = replace(topology(), resources=(Declared(address=A, spec=External(external=True)),))
    assert owners(take_over_records(around, LEDGER, told(("other",)))) == {
        "A": ("other", ""), "B": ("mine", "other"), "C": ("other", ""),
    }  # fmt: skip


def test_what_gets_a_new_name_here_is_taken() -> None:
    new_name = Moved(origin=C, address=A)
    assert owners(take_over_records(topology(new_name), LEDGER, told(("other",))))["C"] == ("mine", "other")


def test_from_anybody_else_nothing_is_taken() -> None:
    assert take_over_records(topology(), LEDGER, told(("somebody", "mine"))) == LEDGER


@pytest.mark.parametrize(("named", "taken"), [("theirs", True), ("mine", False), ("ours", False)])
def test_of_ones_own_name_the_owner_is_the_repository(named: str, taken: bool) -> None:
    ledger = {A: owned("mine", source="theirs")}
    assert owners(take_over_records(topology(), ledger, told((named,)))) == {"A": ("mine", "theirs" if taken else "")}


def test_a_topology_that_has_another_name_now_takes_all_that_it_had() -> None:
    found = take_over_records(topology(renamed("other")), {**LEDGER, A: owned("third")}, told())
    assert owners(found) == {"A": ("third", ""), "B": ("mine", "other"), "C": ("mine", "other")}


@pytest.mark.parametrize(("until", "counts"), [(date(2026, 6, 1), True), (date(2026, 5, 31), False), (None, True)])
def test_a_name_counts_until_its_last_day(until: date | None, counts: bool) -> None:
    found = take_over_records(topology(renamed("other", until=until)), {C: owned("other")}, told())
    assert (found[C].topology == "mine") is counts


def test_who_was_called_so_all_along_takes_nothing_from_himself() -> None:
    ledger = {C: owned("mine")}
    assert take_over_records(topology(renamed("mine")), ledger, told()) == ledger


def change(address: Address, action: Action, record: Owned | None, reason: str = "") -> Change:
    return Change(address=address, action=action, owned=record, reason=reason)


def test_what_changes_hands_is_remembered_anew_though_it_is_as_wanted() -> None:
    taken = owned("mine", taken_from="other")
    changes = {
        A: change(A, Action.KEEP, taken), B: change(B, Action.UPDATE, taken, "why"), C: change(C, Action.KEEP, owned("mine")),
    }  # fmt: skip
    found = {address.name: (one.action, one.reason) for address, one in with_new_records(changes)}
    assert found == {"A": (Action.ADOPT, "taken over from other"), "B": (Action.UPDATE, "why")}


def test_an_owner_that_owns_nothing_here_is_said() -> None:
    (said,) = unused_take_overs(("other", "misspelt"), {A: owned("mine", taken_from="other"), B: owned("mine")})
    assert (said.code, said.name, said.severity) == ("XX915", "takes-nothing-over", Severity.WARNING)
    assert (
        said.message
        == "--take-over misspelt takes over nothing: misspelt owns nothing that is declared, renamed or removed here"
    )
    assert said.fix == "leave it out, or name the owner as the refusal (XX101, XX102) does"


def test_no_name_at_all_is_nobodys() -> None:
    assert [one.code for one in unused_take_overs(("",), {B: owned("mine")})] == ["XX915"]
