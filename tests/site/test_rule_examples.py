"""Whoever applies the live objects of a page, does what stands beside the files and plans the file, sees the code of the page;
and with the consents that the plan offers, all of it is applied."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import reconciler
from reconciler.changes.verdict import Verdict
from reconciler.journeys.plan.plan import Planned
from reconciler.model.run_options import NO_OPTIONS, Origin, RunOptions
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.server.connect.connection import connection, session
from reconciler.server.connect.options import ConnectOptions
from reconciler.testbed.stage import Cast, stage
from tests.rules.examples import FILE, Example, chosen, example
from tests.rules.test_rules import CODES, RULES
from tests.site.beside import OF_FILES
from tests.site.by_hand import done_by_hand
from tests.site.clients import used_by_clients
from tests.site.rules import rule_page
from tests.support.accounts import Account
from tests.support.binaries import NEWEST, binary

BY_CLIENTS = """
    CO112 CO301 CO310 CO312 CO601 CO602 CO603 CO605 CO606 CO607 CO608 EG302 KV301 KV304 KV310 KV601 KV605 OB310 OB601 OB605 SG312
    ST301 ST302 ST304 ST307 ST601 ST604 ST605
"""
"""Played with what clients have published, taken and left in flight."""
BUILT = "KV552 KV553 OB552 OB553 ST552 ST553 XX221 XX222 XX223 XX224 XX225 XX227"
"""Played on servers with the cluster and the limits of the case."""
NOT_PLAYED = {
    "a server that is not supported any more": "OB401",
    "a cluster": "KV306 OB306 ST306 XX226",
    "messages, positions or clients": "EG601 KV305 KV307 OB301 ST305 ST603 ST609",
}
"""What the examples of these codes need besides files, clients and what is done by hand: a consumer on a certain server, tiers of an
account, members of a group at work, a copy that lags, messages of some age, or more messages than the limit of their stream.
Each page says it below its files."""


def needs(one: Example) -> set[str]:
    """What of all this the case speaks of."""
    keys, raw = one.case.keys(), one.case.get("raw", {})
    infos = [
        *raw.get("streams", {}).values(),
        *(own for part in raw.get("consumers", {}).values() for own in part.values()),
    ]
    found = {
        "a server that is not supported any more": one.scene.snapshot.target.version < SUPPORTED[0],
        "a cluster": "cluster" in keys,
        "messages, positions or clients": "facts" in keys or any((info or {}).keys() - {"config"} for info in infos),
    }
    return {words for words, is_needed in found.items() if is_needed}


PLAYED = [code for code in CODES if not any(code in codes.split() for codes in NOT_PLAYED.values())]


def test_every_example_is_played_unless_it_needs_what_the_list_says() -> None:
    wrong = [code for words, codes in NOT_PLAYED.items() for code in codes.split() if words not in needs(example(code))]
    assert wrong == []


def test_a_page_says_below_its_files_whatever_these_do_not_say() -> None:
    cases = {code: example(code).case for code in CODES}
    shown = {code: OF_FILES | ({"owner"} if case.get("owner") else set()) for code, case in cases.items()}
    more = {code for code, case in cases.items() if case.keys() - shown[code]}
    assert {code for code in CODES if "\n\nBeside the files: " in rule_page(RULES[code])} == more


def test_what_is_live_on_a_page_can_be_applied() -> None:
    assert [code for code in CODES if example(code).first_plan.blocked] == []


def test_a_case_that_no_reader_can_play_is_no_example_where_another_one_is() -> None:
    says = "streams: {S: {subjects: [s], num_replicas: 3}}"
    flagged = {"desired": says, "expect": [{"outcome": "warns"}]}
    refused = {**flagged, "live": says}
    too_old = {**flagged, "live": "streams: {S: {subjects: [s]}}", "server": "2.9"}
    by_hand = {**too_old, "server": "2.12", "raw": {"streams": {"S": {"config": {"num_replicas": 3}}}}}
    assert chosen("ST320", [refused, too_old, by_hand]).case == by_hand
    assert chosen("ST320", [refused, too_old]).case == refused


def minor(one: Example) -> str:
    """The server that the page is about: the newest unless it says another one."""
    version = Version.parse(one.case.get("server", NEWEST))
    return f"{version.major}.{version.minor}"


@contextmanager
def place(one: Example, new_account: Callable[..., Account]) -> Iterator[ConnectOptions]:
    """An account such as that of the case, with nothing in it."""
    if one.code in BUILT.split():
        cast = Cast(target=one.scene.snapshot.target, size=3 if "cluster" in one.case else 1)
        with stage(cast, binary(minor(one))) as built:
            yield built.options()
    else:
        account = new_account(minor(one))
        yield ConnectOptions.to(account.url, user=account.user, password=account.password)


def planned(folder: Path, text: str, at: ConnectOptions, options: RunOptions = NO_OPTIONS) -> Planned:
    file = folder / FILE
    file.write_text(text, encoding="utf-8")
    topology = reconciler.load([file]).topology
    assert topology is not None
    return reconciler.plan(topology, at, options)


def blocking(made: Planned) -> list[Verdict]:
    return [verdict for change in made.plan.changes for verdict in change.verdicts if verdict.blocks]


@pytest.mark.parametrize("code", PLAYED)
def test_a_reader_who_does_what_the_page_says_sees_its_code(
    code: str, new_account: Callable[..., Account], tmp_path: Path
) -> None:
    one = example(code)
    with place(one, new_account) as at:
        if one.before:
            assert reconciler.apply(planned(tmp_path, one.before, at), at).is_success
        asyncio.run(_seen_and_consented(one, at, tmp_path))


async def _seen_and_consented(one: Example, at: ConnectOptions, folder: Path) -> None:
    """Clients stay while this plans and applies."""
    options = RunOptions(origin=Origin(repository=one.case.get("source")))
    async with session(at) as js, connection(at) as nc:
        if one.code in BY_CLIENTS.split():
            await used_by_clients(nc, js, one)
        await done_by_hand(js, one)
        made = await asyncio.to_thread(planned, folder, one.after, at, options)
        assert one.code in {verdict.code for change in made.plan.changes for verdict in change.verdicts}
        asked = blocking(made)
        if asked and all(verdict.consentable for verdict in asked):
            allow = tuple((verdict.code, verdict.address) for verdict in asked)
            consented = await asyncio.to_thread(planned, folder, one.after, at, replace(options, allow=allow))
            assert blocking(consented) == []
            assert (await asyncio.to_thread(reconciler.apply, consented, at)).is_success
