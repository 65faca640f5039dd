"""Users with exactly the printed permissions plan and apply without a violation, and none of them is there for nothing."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import nats

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.changes.verdict import Outcome
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.apply.backup import back_up, streams_to_back_up
from reconciler.journeys.permissions.permissions import permissions, permissions_for_all
from reconciler.journeys.plan.plan import plan
from reconciler.journeys.plan.preflight import check, memory_warning
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.permissions import Needs, Purpose, covers
from reconciler.model.wire.steps import Call
from reconciler.server.read.permission_subjects import Api
from reconciler.server.wire.api import JetStream
from tests.kinds.test_across_harms import until
from tests.permissions.scenes import CONSENTED, denied, needs, published, topologies, users
from tests.support.accounts import User
from tests.support.binaries import NEWEST
from tests.support.clusters import Cluster
from tests.support.jetstream import done, talk
from tests.support.servers import NatsServer
from tests.support.topologies import read

GROUP = "{type: elastic, max_members: 4, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}]}"
OPTIONS = RunOptions(allow=CONSENTED)


async def applied(js: JetStream, wanted: Topology) -> Finished:
    made = await plan(wanted, js, OPTIONS)
    assert not made.plan.blocked, [v.message for c in made.plan.blocked for v in c.verdicts]
    return [event async for event in apply(made, js) if isinstance(event, Finished)][-1]


async def some_messages(js: JetStream) -> None:
    """Stored where somebody stores them; what is read next may depend on it."""
    for subject in ("a.1", "w.1", "w.2", "jobs.1", "gone.1", "$KV.CONFIG.k"):
        await js.pipeline.request(subject, b"x", within=20)
    await until(js, "JOBS-g", 1)


def test_one_user_applies_several_topologies_with_the_permissions_of_all(tmp_path: Path) -> None:
    wanted = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        file = f"streams: {{{name.upper()}: {{subjects: [{name}.*], consumers: {{c: {{ack_policy: explicit}}}}}}}}\n"
        wanted.append(read(tmp_path / name, file, name))
    union = permissions_for_all(wanted, Purpose.APPLY, Api(), allow=CONSENTED)
    with NatsServer(config=users({"both": union}) + "trace: true") as server:
        for topology in wanted:
            finished = talk(User(server, "both"), partial(applied, wanted=topology))
            assert (finished.is_success, finished.warnings) == (True, ()), finished
        assert denied(server) == set()


def test_whoever_has_them_applies_everything_and_uses_all_of_them(tmp_path: Path) -> None:
    first, then = topologies(tmp_path)
    bounded = {"first": needs(first), "then": needs(then)}
    with NatsServer(config=users(bounded) + "trace: true") as server:
        for name, wanted in (("first", first), ("then", then)):
            finished = talk(User(server, name), partial(applied, wanted=wanted))
            assert (finished.is_success, finished.warnings) == (True, ()), finished
            again = talk(User(server, name), partial(plan, wanted, options=OPTIONS))
            assert again.plan.is_empty, again.plan.steps
            talk(User(server, "admin"), some_messages)
        assert denied(server) == set()
        used = published(server.log)
    unused = {shape(n.subject) for own in bounded.values() for n in own.publish} - {shape(one) for one in used}
    assert unused == set()


def test_whoever_has_them_is_told_in_a_cluster_that_no_server_has_the_tags(tmp_path: Path) -> None:
    wanted = read(tmp_path, "streams: {S: {subjects: [s], num_replicas: 3, placement: {tags: [nowhere]}}}")
    bounded = {"ci": permissions(wanted, Purpose.PLAN, Api())}
    system = "SYS: {users: [{user: sys, password: sys}]}\n"
    config = users(bounded).replace("accounts {", "accounts { " + system, 1) + "system_account: SYS\n"
    with Cluster(NEWEST, config, system=("sys", "sys"), user=("admin", "admin")) as cluster:
        (verdict,) = (
            verdict
            for change in talk(User(cluster.nodes[0], "ci"), partial(plan, wanted)).plan.changes
            for verdict in change.verdicts
        )
        assert denied(cluster.nodes[0]) == set()
    assert (verdict.code, verdict.outcome) == ("XX227", Outcome.REFUSED), verdict


def test_a_queue_that_an_earlier_apply_made_anew_is_settled_without_any_consent(tmp_path: Path) -> None:
    wanted = read(tmp_path, f"streams:\n  JOBS:\n    subjects: [jobs.*]\n    groups: {{g: {GROUP}}}\n")

    async def made_anew(js: JetStream) -> None:
        config = done(await js.read("STREAM.INFO.JOBS-g"))["config"]
        done(await js.write("STREAM.DELETE.JOBS-g"))
        starting = {**config, "sources": [{**config["sources"][0], "opt_start_seq": 1}]}
        done(await js.write("STREAM.CREATE.JOBS-g", starting))
        await some_messages(js)

    with NatsServer(config=users({"ci": permissions(wanted, Purpose.APPLY, Api())})) as server:
        assert talk(User(server, "ci"), lambda js: applied(js, wanted)).is_success
        talk(User(server, "admin"), made_anew)
        settled = talk(User(server, "ci"), lambda js: applied(js, wanted))
        assert ([one.step.id for one in settled.done], denied(server)) == (["settle stream/JOBS-g"], set()), settled


def test_whoever_applies_may_resume_what_somebody_paused_by_hand(tmp_path: Path) -> None:
    wanted = read(tmp_path, "streams: {S: {subjects: [s], consumers: {c: {ack_policy: explicit}}}}")
    left = read(tmp_path / "left", "streams: {S: {subjects: [s], consumers: {c: {unmanaged: [pause_until]}}}}")

    async def paused(js: JetStream) -> None:
        done(await js.write("CONSUMER.PAUSE.S.c", {"pause_until": "2099-01-01T00:00:00Z"}))

    with NatsServer(config=users({"ci": permissions(wanted, Purpose.APPLY, Api())})) as server:
        assert talk(User(server, "ci"), lambda js: applied(js, wanted)).is_success
        talk(User(server, "admin"), paused)
        resumed = talk(User(server, "ci"), lambda js: applied(js, wanted))
        assert ([step.step.call for step in resumed.done], denied(server)) == ([Call.CONSUMER_PAUSE], set()), resumed
    assert "$JS.API.CONSUMER.PAUSE.S.c" not in {
        need.subject for need in permissions(left, Purpose.APPLY, Api()).publish
    }


_SHAPE = re.compile(r"\$JS\.API\.(?:INFO|DIRECT\.GET|STREAM\.MSG\.GET|[A-Z]+\.[A-Z]+)|\$KV\.[^.]+|\$SYS.*")


def shape(subject: str) -> str:
    """Which kind of request it is, whatever it is about: `$JS.API.CONSUMER.PAUSE`, `$KV.reconciler`."""
    found = _SHAPE.match(subject)
    return found[0] if found else subject


def test_whoever_may_only_look_plans_like_an_admin(tmp_path: Path) -> None:
    first, then = topologies(tmp_path)
    purpose = Purpose.PLAN
    with NatsServer(config=users({"first": needs(first, purpose), "then": needs(then, purpose)})) as server:
        admin = User(server, "admin")
        for name, wanted in (("first", first), ("then", then)):
            seen = talk(User(server, name), partial(plan, wanted, options=OPTIONS))
            full = talk(admin, partial(plan, wanted, options=OPTIONS))
            assert (seen.plan.steps, told_of(seen.plan)) == (full.plan.steps, told_of(full.plan))
            talk(admin, partial(applied, wanted=wanted))
            talk(admin, some_messages)
        assert denied(server) == set()


def told_of(plan: Plan) -> list[object]:
    """Without quantities, which change while a queue still fills."""
    return [(c.address, c.action, {v.code for v in c.verdicts}) for c in plan.changes]


def test_none_of_them_can_be_missing_unnoticed(tmp_path: Path) -> None:
    """From nothing, and again where everything changes: who lacks one is told, by the server or before it is asked."""
    first, then = topologies(tmp_path)
    lacking_one = {
        f"{name}{at}": (wanted, without(own, at), own.publish[at].subject)
        for name, wanted, own in (("first", first, needs(first)), ("then", then, needs(then)))
        for at in range(len(own.publish))
    }
    noticed = set()
    with NatsServer(config=users({name: own for name, (_, own, _) in lacking_one.items()})) as server:
        for stage in (first, then):
            for name, (wanted, _, subject) in lacking_one.items():
                if wanted is stage and is_told(User(server, name), wanted, subject):
                    noticed.add(shape(subject))
            if stage is first:
                talk(User(server, "admin"), lambda js: applied(js, first))
                talk(User(server, "admin"), some_messages)
    listed = {shape(subject) for _, _, subject in lacking_one.values()}
    assert listed - noticed == {"$JS.API.STREAM.NAMES"}, "asked when all is through, and nothing is lost without it"


def without(own: Needs, at: int) -> Needs:
    return replace(own, publish=own.publish[:at] + own.publish[at + 1 :])


def is_told(user: User, wanted: Topology, subject: str) -> bool:
    """Do planning and the look before an apply notice that it is missing?"""

    async def look(js: JetStream) -> str:
        made = await plan(wanted, js, OPTIONS)
        try:
            check(made.plan, made.snapshot, js)
        except CannotContinue as refused:
            return str(refused)
        warned = memory_warning(made.plan, made.snapshot, js)
        return str(warned.fix if warned else "")

    words = talk(user, look).replace(",", " ").replace('"', " ").split()
    return any(covers(subject, one) for one in (*words, *denied(user.server, user.name)))


def test_answers_may_come_to_a_prefix_of_ones_own(tmp_path: Path) -> None:
    first, _ = topologies(tmp_path)
    own = needs(first, Purpose.PLAN, Api(inbox="_INBOX.ci"))

    async def read(server: NatsServer) -> set[str]:
        nc = await nats.connect(server.url, user="ci", password="ci", inbox_prefix="_INBOX.ci")
        js = await JetStream.open(nc)
        assert (await plan(first, js)).snapshot.unknown == {}
        await js.close()
        await nc.close()
        return denied(server)

    with NatsServer(config=users({"ci": own})) as server:
        assert asyncio.run(read(server)) == set()


def test_a_server_of_the_domain_judges_the_plain_subjects(tmp_path: Path) -> None:
    first, _ = topologies(tmp_path)
    inside = {"plain": needs(first), "named": needs(first, api=Api.of("hub", None, "_INBOX"))}
    with NatsServer(config=users(inside), jetstream={"domain": "hub"}) as server:
        finished = talk(User(server, "plain"), lambda js: applied(js, first), domain="hub")
        assert (finished.is_success, finished.warnings, denied(server)) == (True, (), set())
        said = talk(User(server, "named"), lambda js: js.request("INFO"), domain="hub")
        assert str(said) == "permission denied: may not publish to $JS.API.INFO"


def test_elsewhere_they_are_named_after_the_domain(tmp_path: Path) -> None:
    named = {need.subject for need in needs(topologies(tmp_path)[0], api=Api.of("hub", None, "_INBOX")).publish}
    assert {one for one in named if not one.startswith("$JS.hub.API.")} == {"$SYS.REQ.USER.INFO"}
    assert "$JS.hub.API.$KV.reconciler.>" in named


def test_backups_can_be_part_of_them(tmp_path: Path) -> None:
    first, then = topologies(tmp_path)
    own = permissions(then, Purpose.APPLY, Api(), allow=CONSENTED, backup=True)

    folder = tmp_path / "backups"
    folder.mkdir()

    async def backup(js: JetStream) -> None:
        made = await plan(then, js, OPTIONS)
        assert [one async for one in back_up(js, streams_to_back_up(made.plan, made.snapshot), folder)]

    with NatsServer(config=users({"ci": own})) as server:
        talk(User(server, "admin"), lambda js: applied(js, first))
        talk(User(server, "admin"), some_messages)
        talk(User(server, "ci"), backup)
        assert denied(server) == set()
    assert (folder / "GONE" / "stream.tar.s2").exists()
