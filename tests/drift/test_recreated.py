"""What was deleted and made anew just as it was is told, on every server: by its creation, or by what a restart cannot explain."""

from __future__ import annotations

from pathlib import Path

import pytest

import reconciler
from reconciler.changes.change import Action
from reconciler.journeys.drift.drift import Standing
from reconciler.report.codec.shape import data_of
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import reaches
from tests.drift.account import Owner
from tests.e2e.someone import Someone
from tests.quantities.losing import publish, take
from tests.support.accounts import Account, accounts_config
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import NatsServer
from tests.support.topologies import HEADER
from tests.support.versions import on_every_version

FILE = "streams:\n  S:\n    subjects: [s.>]\n    consumers: {c: {ack_policy: explicit}, d: {ack_policy: explicit}}\n"
EVERYTHING = {"stream/S", "consumer/S/c", "consumer/S/d"}


async def consumer_anew(js: JetStream) -> None:
    done(await js.write("CONSUMER.DELETE.S.c"))
    await make_consumer(js, "S", "c")


async def stream_anew(js: JetStream) -> None:
    done(await js.write("STREAM.DELETE.S"))
    await make_stream(js, "S", subjects=["s.>"])
    await make_consumer(js, "S", "c")
    await make_consumer(js, "S", "d")


async def published(js: JetStream) -> None:
    for number in range(3):
        await js.pipeline.nc.request(f"s.{number}", b"x", timeout=20)


def recreated(owner: Owner, file: str = FILE) -> set[str]:
    items = owner.drift(owner.topology(file)).items
    return {item.address for item in items if item.standing is Standing.RECREATED}


@on_every_version
def test_an_object_made_anew_is_told_however_far_it_had_come(account: Account, tmp_path: Path) -> None:
    """A consumer that was applied has come as far as nothing: what replaces it never stands behind that."""
    owner = Owner(account, tmp_path)
    owner.apply(FILE)
    talk(account, consumer_anew)
    assert recreated(owner) == {"consumer/S/c"}
    talk(account, stream_anew)
    assert recreated(owner) == EVERYTHING
    owner.apply(FILE)
    assert recreated(owner) == set()


@pytest.mark.parametrize("minor", ["2.11", "2.14"])
def test_a_restart_makes_nothing_anew_and_hides_no_consumer_of_a_stream_that_was(minor: str, tmp_path: Path) -> None:
    with NatsServer(minor, accounts_config(1)) as server:
        owner = Owner(Account(server=server, user="a0", password="a0"), tmp_path)
        owner.apply(FILE)
        talk(owner.account, published)
        owner.apply(FILE.replace("[s.>]", "[s.>, t]"))
        server.restart()
        assert recreated(owner, FILE.replace("[s.>]", "[s.>, t]")) == set()
        talk(owner.account, stream_anew)
        assert recreated(owner) == EVERYTHING


@on_every_version
@pytest.mark.parametrize("anew", [{}, {"deliver_policy": "new"}], ids=["as it was", "with another start"])
def test_a_renamed_consumer_made_anew_is_told_with_what_that_skips_or_repeats(
    account: Account, tmp_path: Path, anew: dict[str, str]
) -> None:
    async def half_done(js: JetStream) -> None:
        await publish(js, *(f"s.{number}" for number in range(10)))
        await take(js, "S", "c", 4)

    async def once_more(js: JetStream) -> None:
        done(await js.write("CONSUMER.DELETE.S.new"))
        await make_consumer(js, "S", "new", **anew)

    owner = Owner(account, tmp_path)
    owner.apply("streams:\n  S: {subjects: [s.>], consumers: {c: {ack_policy: explicit}}}\n")
    talk(account, half_done)
    renamed = (
        "streams:\n  S: {subjects: [s.>], consumers: {new: {ack_policy: explicit}}}\n"
        "moved: [{from: consumer/S/c, to: consumer/S/new, reason: r}]\n"
    )
    owner.apply(renamed)
    talk(account, once_more)
    assert recreated(owner, renamed) == {"consumer/S/new"}
    said = [
        verdict.message
        for change in reconciler.plan(owner.topology(renamed), owner.where).plan.changes
        for verdict in change.verdicts
        if verdict.code == "CO312"
    ]
    assert [one.partition(": the new one ")[2] for one in said] == [
        "started at new messages and skips up to 6 messages from sequence 5 on, as far as the old one had not processed them"
        if anew
        else "continues at sequence 1, so up to 10 messages are redelivered, as far as the old one had processed them"
    ]


@on_every_version
def test_what_came_again_already_is_told_until_an_apply_records_the_new_one(account: Account, tmp_path: Path) -> None:
    """Ten were processed; all of them come again before anybody looks."""

    async def processed_twice(js: JetStream) -> None:
        await publish(js, *(f"s.{number}" for number in range(10)))
        await take(js, "S", "c", 10)
        await consumer_anew(js)
        assert len(await take(js, "S", "c", 10)) == 10

    owner = Owner(account, tmp_path)
    owner.apply(FILE)
    talk(account, processed_twice)
    planned = reconciler.plan(owner.topology(FILE), owner.where).plan
    (lost,) = [verdict for change in planned.changes for verdict in change.verdicts if verdict.code == "CO312"]
    assert "the new one has redelivered up to 10 messages already, as far as the old one had processed" in lost.message
    assert (lost.quantities, lost.fix) == (
        {"redelivered": 10}, "find out what clients have processed twice; an apply only updates the record",
    )  # fmt: skip
    owner.apply(FILE)
    assert reconciler.plan(owner.topology(FILE), owner.where).plan.changes == ()


LOST = "streams:\n  D: {subjects: [d.>]}\n  E:\n    subjects: [e.>]\n    consumers: {c: {ack_policy: explicit}}\n"


async def filled(js: JetStream) -> None:
    await publish(js, *(f"{stream}.{number}" for stream in "de" for number in range(5)))
    await take(js, "E", "c", 2)


async def recreated_alike(js: JetStream) -> None:
    done(await js.write("STREAM.DELETE.D"))
    await make_stream(js, "D", subjects=["d.>"])
    done(await js.write("CONSUMER.DELETE.E.c"))
    await make_consumer(js, "E", "c")


@on_every_version
def test_what_was_lost_with_the_old_one_is_counted_and_nothing_is_said_to_be_put_back(
    someone: Someone, account: Account
) -> None:
    """Recreated as it was, an object is as declared: only the record of the old one knows what it held."""
    file = someone.write(HEADER + LOST)
    assert someone("apply", file, "--yes").code == 0
    talk(account, filled)
    someone.write(
        HEADER + LOST.replace("[d.>]", "[d.>], description: a").replace("explicit", "explicit, description: a")
    )
    assert someone("apply", file, "--yes").code == 0
    talk(account, recreated_alike)
    someone.write(HEADER + LOST)
    looked_at, planned = someone("drift", file), someone("plan", file)
    restored, again = someone("drift", "restore", file, "--yes"), someone("drift", file)
    for said in (looked_at, planned, restored):
        text = " ".join(said.out.split())
        assert "he old one is gone with everything in it (5 messages when it was recorded on 20" in text
        assert "he old one is gone with its position (before sequence 3 when it was recorded on 20" in text
        assert (
            "the new one continues at sequence 1, so up to 5 messages are redelivered, as far as the old one had processed them"
            in text
        )
    assert (looked_at.code, planned.code, restored.code, again.code) == (3, 0, 0, 0)
    assert "To put it back" not in looked_at.out
    assert f"To record it as it is now: reconciler drift restore {file}" in looked_at.out
    assert restored.out.endswith(
        "No configuration had to be put back. Nothing brings back the messages and positions of what somebody deleted.\n"
    )


@pytest.mark.parametrize("account", ["2.15"], indirect=True)
def test_drift_tells_tools_what_was_lost(account: Account, tmp_path: Path) -> None:
    owner = Owner(account, tmp_path)
    owner.apply(LOST)
    talk(account, filled)
    owner.apply(LOST.replace("explicit", "explicit, description: a"))
    talk(account, recreated_alike)
    items = {one["address"]: one for one in data_of(owner.drift(owner.topology(LOST)))["items"]}
    assert "up to 5 messages are redelivered, as far as the old one had processed them" in items["consumer/E/c"]["lost"]
    assert "lost" not in items["stream/D"], "it held nothing when it was recorded"


GROUP = """streams:
  S:
    subjects: [s.*]
    groups:
      g: {type: elastic, max_members: 2, partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}], members: [m]}
"""


async def half_processed(js: JetStream) -> None:
    await publish(js, "s.1", "s.2", "s.3")
    await reaches(3, js, "S-g")
    await make_consumer(js, "S-g", "m", filter_subject=">")
    await take(js, "S-g", "m", 2)
    done(await js.write("STREAM.DELETE.S-g"))


@on_every_version
def test_the_queue_of_a_group_comes_back_with_consent_alone(someone: Someone, account: Account) -> None:
    file = someone.write(HEADER + GROUP)
    assert someone("apply", file, "--yes").code == 0
    talk(account, half_processed)
    planned, refused = someone("plan", file), someone("drift", "restore", file, "--yes")
    assert (planned.code, refused.code) == (4, 4)
    for said in (planned, refused):
        assert "up to 3 messages, including what its members have processed" in " ".join(said.out.split())
    restored = someone("drift", "restore", file, "--yes", "--allow", "EG312=elastic_group/S/g")
    assert restored.out.endswith(
        "Everything that drifted here is configured as it was applied. "
        "Nothing brings back the messages and positions of what somebody deleted.\n"
    ), restored
    assert talk(account, lambda js: reaches(3, js, "S-g")) == 3


async def recreated_by_hand(js: JetStream) -> None:
    """Two of three messages were processed; then somebody deletes the queue and makes it again from what it had been."""
    config = done(await js.write("STREAM.INFO.S-g"))["config"]
    await half_processed(js)
    await make_stream(js, "S-g", **{name: value for name, value in config.items() if name != "name"})
    await reaches(3, js, "S-g")


@on_every_version
def test_a_queue_that_somebody_recreated_as_it_was_is_told_and_then_recorded(
    someone: Someone, account: Account
) -> None:
    file = someone.write(HEADER + GROUP)
    assert someone("apply", file, "--yes").code == 0
    assert someone("drift", file).code == 0
    talk(account, recreated_by_hand)
    looked_at, planned = someone("drift", file), someone("plan", file)
    assert (looked_at.code, planned.code) == (3, 0)
    for said in (looked_at, planned):
        text = " ".join(said.out.split())
        assert "stream S-g was deleted, and recreated at 20" in text
        assert "members process up to 3 messages that they had processed" in text
    assert someone("apply", file, "--yes").code == 0
    assert someone("drift", file).code == 0, "the new queue is on record now"


@on_every_version
def test_a_renamed_consumer_that_is_gone_is_missing_though_its_old_name_is_in_use(
    account: Account, tmp_path: Path
) -> None:
    """An application that does not know of the rename creates the old one again; the entry in `moved` still stands there."""
    owner = Owner(account, tmp_path)
    owner.apply(FILE)
    renamed = FILE.replace("{c:", "{e:") + "moved: [{from: consumer/S/c, to: consumer/S/e, reason: clearer}]\n"
    topology = owner.apply(renamed)

    async def meddled(js: JetStream) -> None:
        done(await js.write("CONSUMER.DELETE.S.e"))
        await make_consumer(js, "S", "c")

    talk(account, meddled)
    assert {item.address: item.standing for item in owner.drift(topology).items} == {"consumer/S/e": Standing.MISSING}
    plan = reconciler.plan(topology, owner.where).plan
    assert [(change.address, change.action) for change in plan.changes if change.action.writes] == [
        ("consumer/S/e", Action.CREATE)
    ]
