"""Whoever keeps a copied interest stream reads in plans what real servers and clusters delete from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import Alone, carried_out, publish, reaches
from tests.groups.making import until
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.servers import running
from tests.support.topologies import read

CODE = "XX212"
INTEREST = "{subjects: [%s.>], retention: interest%s, consumers: {c: {ack_policy: explicit}}}"
ON_ONE = f"streams: {{I: {INTEREST % ('i', '')}, COPY: {{sources: [{{name: I}}]%s}}}}"


async def said(js: JetStream, folder: Path, text: str) -> list[tuple[str, str, bool]]:
    """Of each change: the verdict, and whether somebody has consented to it."""
    changes = (await plan(read(folder, text), js)).plan.changes
    return [
        (change.address, verdict.outcome.value, verdict.consented is not None)
        for change in changes
        for verdict in change.verdicts
        if verdict.code == CODE
    ]


@pytest.mark.parametrize(("before", "after"), [("2.11", "2.14"), ("2.12", "2.15")])
def test_after_an_upgrade_every_plan_says_what_restarts_delete_until_the_file_consents(
    tmp_path: Path, before: str, after: str
) -> None:
    as_it_is, consenting = ON_ONE % "", ON_ONE % f", allow: [{{code: {CODE}, reason: c is told by hand}}]"

    async def applied(js: JetStream) -> list[tuple[str, str, bool]]:
        await carried_out(js, tmp_path, as_it_is)
        return await said(js, tmp_path, as_it_is)

    async def upgraded(js: JetStream) -> list[list[tuple[str, str, bool]]]:
        return [await said(js, tmp_path, text) for text in (as_it_is, as_it_is, consenting)]

    with running(before) as server:
        assert talk(Alone(server), applied) == []
        found = talk(Alone(server.restart(after)), upgraded)
    assert found == [[("stream/I", "warns", False)]] * 2 + [[("stream/COPY", "warns", True)]]


async def holds(js: JetStream, stream: str, messages: int) -> None:
    await until(js, lambda info: info["state"]["messages"] == messages, f"STREAM.INFO.{stream}")


THREE = ", num_replicas: 3"
ORIGINS = ", ".join(f"I{name}: {INTEREST % (name, THREE)}" for name in "abcd")
COPIES = f"streams: {{{ORIGINS}, Ca: {{subjects: [ca], sources: [{{name: Ia}}]{THREE}}}, Cb: {{mirror: {{name: Ib}}{THREE}}}, "
COPIES += f"Cc: {{sources: [{{name: Ic}}]{THREE}}}, Cd: {{sources: [{{name: Id}}]{THREE}}}}}"
CHANGED = f"streams: {{{ORIGINS}, Ca: {{subjects: [ca]{THREE}}}, Cc: {{sources: [{{name: Ic, filter_subject: c.a}}]{THREE}}}, "
CHANGED += "Cd: {sources: [{name: Id}], num_replicas: 1}}\nremoved: [{address: stream/Cb, reason: done}]\n"


@pytest.mark.parametrize("clustered_account", ["2.11", "2.12", "2.15"], indirect=True)
def test_a_plan_that_lets_a_cluster_delete_what_is_not_processed_needs_consent(
    clustered_account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str, bool]]]:
        made = await said(js, tmp_path, COPIES)
        await carried_out(js, tmp_path, COPIES, *([CODE] if made else []))
        for name in "abcd":
            await publish(js, *[f"{name}.a"] * 10)
            await reaches(10, js, f"C{name}")
        changed = await said(js, tmp_path, CHANGED)
        codes = {
            verdict.code
            for change in (await plan(read(tmp_path, CHANGED), js)).plan.changes
            for verdict in change.verdicts
        }
        await carried_out(js, tmp_path, CHANGED, *codes)
        for name in "abcd":
            left = 0 if any(address == f"stream/C{name}" for address, *_ in changed) else 10
            await holds(js, f"I{name}", left)
        return made, changed

    lost = [(f"stream/C{name}", "needs_consent", False) for name in "abcd"]
    assert talk(clustered_account, work) == ((lost, lost) if clustered_account.minor == "2.12" else ([], []))


GROUP = "streams: {I: {subjects: [i.>], retention: interest, num_replicas: 3, consumers: {c: {ack_policy: explicit}}, groups: {%s}}}"
DIVIDED = "{type: elastic, max_members: %d, members: [a]%s}"
REMOVED = "\nremoved: [{address: elastic_group/I/g, reason: other settings}]"
ENTRY = f", allow: [{{code: {CODE}, reason: it is empty}}]"


@pytest.mark.parametrize("clustered_account", ["2.12", "2.15"], indirect=True)
def test_the_steps_for_other_settings_of_a_group_name_every_consent_that_they_take(
    clustered_account: Account, tmp_path: Path
) -> None:
    asks = clustered_account.minor == "2.12"
    texts = {
        "removed": GROUP % "" + REMOVED,
        "again": GROUP % f"g: {DIVIDED % (4, '')}",
        "consented": GROUP % f"g: {DIVIDED % (4, ENTRY)}",
    }

    async def work(js: JetStream) -> list[list[tuple[str, str, bool]]]:
        await carried_out(js, tmp_path, GROUP % f"g: {DIVIDED % (2, '')}", *([CODE] if asks else []))
        changes = (await plan(read(tmp_path, texts["again"]), js)).plan.changes
        (refused,) = [verdict for change in changes for verdict in change.verdicts if verdict.code == "EG101"]
        assert (f"apply with --allow {CODE}=elastic_group/I/g." in str(refused.fix)) == asks
        assert (f"with the new settings, and with allow: [{{code: {CODE}, reason: …}}]" in str(refused.fix)) == asks
        found = [await said(js, tmp_path, texts["removed"])]
        await carried_out(js, tmp_path, texts["removed"], *([CODE] if asks else []))
        return [*found, *[await said(js, tmp_path, texts[name]) for name in ("again", "consented")]]

    needed, given = [("elastic_group/I/g", "needs_consent", consented) for consented in (False, True)]
    assert talk(clustered_account, work) == ([[needed], [needed], [given]] if asks else [[], [], []])
