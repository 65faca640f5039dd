"""What the refusal of a renaming (XX110) tells people to do, done as it is told: each message is processed once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from nats.aio.msg import Msg
from nats.errors import NoRespondersError

from reconciler.kinds.stream_config.origins import can_remove_limit
from reconciler.model.wire.version import Version
from reconciler.server.wire.api import JetStream
from tests.e2e.pipeline import Pipeline
from tests.faults.wire import Request, wire
from tests.support.accounts import Account, connect
from tests.support.jetstream import done, talk
from tests.support.versions import on_every_version


async def while_applying(account: Account, line: Pipeline, text: str, subjects: Sequence[str]) -> None:
    """Applies, and publishes to each subject after every write that the server has answered."""

    async def published(request: Request) -> None:
        if request.is_write:
            for subject in subjects:
                with suppress(NoRespondersError):  # between two streams nobody stores it, and the publisher is told
                    await line.publish(subject, 1)

    async with wire(lambda: account.server.port) as between:
        between.answered_by = published
        nc = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
        through = await JetStream.open(nc)
        await line.applied(text, by=through)
        await through.close()
        await nc.close()


C = "consumers: {c: {ack_policy: explicit%s}}"
START = ", deliver_policy: by_start_sequence, opt_start_seq: %d"


@on_every_version
def test_a_stream_gets_another_name_and_each_message_is_processed_once(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> bool:
        line = Pipeline(js, tmp_path)
        limited = "consumer_limits: {max_ack_pending: 50}, " if can_remove_limit(Version.parse(account.version)) else ""
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {limited}{C % ''}}}}}")
        await line.publish("s.a", 50)
        await line.process("OLD", "c", 20)
        if limited:  # with which the server would copy nothing
            await line.applied(f"streams: {{OLD: {{subjects: [s.>], {C % ', max_ack_pending: 50'}}}}}")
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {C % ''}}}, NEW: {{sources: [{{name: OLD}}]}}}}")
        await line.publish("s.a", 10)
        await line.applied(f"streams: {{OLD: {{{C % ''}}}, NEW: {{sources: [{{name: OLD}}]}}}}")
        last = await line.copied("NEW", 60)
        new = f"NEW: {{subjects: [s.>], {C % (START % (last + 1))}}}"
        await line.applied(f"streams: {{OLD: {{{C % ''}}}, {new}}}")
        await line.publish("s.a", 30)
        await line.process("OLD", "c")
        assert await line.unprocessed("OLD", "c") == 0
        await line.process("NEW", "c")
        removed = "removed: [{address: stream/OLD, reason: renamed}, {address: consumer/OLD/c, reason: renamed}]"
        await line.applied(f"streams: {{{new}}}\n{removed}")
        return line.each_once()

    assert talk(account, work)


@on_every_version
def test_a_stream_that_transforms_and_republishes_does_so_once_under_its_new_name_too(
    account: Account, tmp_path: Path
) -> None:
    """Its own name is one of its subjects, and one that files hold in quotes."""
    own = "subject_transform: {src: s.>, dest: s.x.>}, republish: {src: s.>, dest: out.>}"

    async def work(js: JetStream) -> None:
        line, heard = Pipeline(js, tmp_path), list[str]()

        async def hear(message: Msg) -> None:
            heard.append(message.data.decode())

        await line.nc.subscribe("out.>", cb=hear)
        await line.applied(f'streams: {{"on": {{subjects: [s.>, "on"], {own}}}}}')
        await line.publish("s.a", 20)
        await line.publish("on", 1)
        copying = 'NEW: {sources: [{name: "on"}]}'
        await line.applied(f'streams: {{"on": {{subjects: [s.>, "on"], {own}}}, {copying}}}')
        await line.applied(f'streams: {{"on": {{subjects: [on.moved], {own}}}, {copying}}}')
        await line.copied("NEW", 21)
        await line.applied(f'streams: {{"on": {{subjects: [on.moved], {own}}}, NEW: {{subjects: [s.>, "on"], {own}}}}}')
        await line.publish("s.a", 10)
        await line.publish("on", 1)
        stored = done(await js.request("STREAM.INFO.NEW", {"subjects_filter": ">"}))["state"]["subjects"]
        assert stored == {"s.x.a": 30, "on": 2}
        assert sorted(heard) == sorted(one for one in line.published if one.startswith("s.a"))

    talk(account, work)


@on_every_version
@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_a_queue_gets_another_name_and_each_message_is_processed_once(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> bool:
        line = Pipeline(js, tmp_path)
        kept = f"retention: {retention}, {C % ''}"
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {kept}}}}}")
        await line.publish("s.a", 50)
        await line.process("OLD", "c", 20)
        await line.applied(f"streams: {{OLD: {{{kept}}}}}")
        await line.applied(f"streams: {{OLD: {{{kept}}}, NEW: {{subjects: [s.>], {kept}}}}}")
        await line.publish("s.a", 30)
        await line.process("OLD", "c")
        await line.process("NEW", "c")
        return line.each_once()

    assert talk(account, work)


@on_every_version
@pytest.mark.parametrize(
    ("retention", "starts"),
    [("limits", ", deliver_policy: new"), ("interest", ", deliver_policy: new"), ("workqueue", "")],
)
def test_a_consumer_moves_to_another_stream_and_each_message_is_processed_once(
    account: Account, tmp_path: Path, retention: str, starts: str
) -> None:
    async def work(js: JetStream) -> bool:
        line, kept = Pipeline(js, tmp_path), f"retention: {retention}"
        old = f"S: {{subjects: [s], {kept}, {C % ''}}}"
        await line.applied(f"streams: {{{old}, T: {{subjects: [t], {kept}}}}}")
        await line.publish("s", 30)
        await line.process("S", "c", 10)
        await line.applied(f"streams: {{{old}, T: {{subjects: [t], {kept}, {C % starts}}}}}")
        await line.publish("t", 20)
        await line.publish("s", 5)
        await line.process("S", "c")
        assert await line.unprocessed("S", "c") == 0
        await line.process("T", "c")
        return line.each_once()

    assert talk(account, work)


@on_every_version
@pytest.mark.parametrize("there", ["T: {subjects: [t]}", ""], ids=["to a stream", "to a new one"])
def test_a_consumer_moves_with_its_subject_and_misses_nothing_that_is_published_meanwhile(
    account: Account, tmp_path: Path, there: str
) -> None:
    async def work(js: JetStream) -> bool:
        line = Pipeline(js, tmp_path)
        old = f"S: {{subjects: %s, {C % ''}}}"
        await line.applied(f"streams: {{{old % '[s, m]'}, {there}}}")
        await line.publish("m", 5)
        new = f"T: {{subjects: [m, t], {C % ', deliver_policy: new'}}}"
        await while_applying(account, line, f"streams: {{{old % '[s]'}, {new}}}", ["m"])
        await line.publish("m", 5)
        await line.process("S", "c")
        await line.process("T", "c")
        assert len(line.published) > 10
        return line.each_once()

    assert talk(account, work)


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_a_consumer_takes_more_subjects_with_its_stream_and_misses_nothing_that_is_published_meanwhile(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> bool:
        line, c = Pipeline(js, tmp_path), "{ack_policy: explicit, filter_subjects: %s}"
        text = f"streams: {{S: {{subjects: %s, retention: {retention}, consumers: {{c: {c}}}}}}}"
        consent = (
            "\nallow: [{on: consumer/S/c, code: XX311, to: [s, m], reason: it starts over}]"
            if retention == "workqueue"
            else ""
        )
        await line.applied(text % ("[s]", "[s]"))
        await line.publish("s", 5)
        await line.process("S", "c")
        await while_applying(account, line, text % ("[s, m]", "[s, m]") + consent, ["m", "s"])
        await line.publish("m", 5)
        await line.process("S", "c")
        assert len(line.published) > 10
        return line.each_once()

    assert talk(account, work)


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_a_waiting_client_of_a_narrowed_consumer_gets_nothing_of_what_its_stream_begins_to_store(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> list[str]:
        line, heard = Pipeline(js, tmp_path), list[str]()

        async def hear(message: Msg) -> None:
            heard.append(message.subject)

        text = (
            f"streams: {{S: {{subjects: %s, retention: {retention}, consumers: {{c: {{ack_policy: explicit%s}}%s}}}}}}"
        )
        await line.applied(text % ("[s]", "", ""))
        inbox = line.nc.new_inbox()
        await line.nc.subscribe(inbox, cb=hear)
        pull = json.dumps({"batch": 100, "expires": 60_000_000_000}).encode()
        await line.nc.publish(f"{js.prefix}CONSUMER.MSG.NEXT.S.c", pull, reply=inbox)
        other = ", d: {ack_policy: explicit, filter_subject: m}"
        await while_applying(account, line, text % ("[s, m]", ", filter_subject: s", other), ["m", "s"])
        await line.publish("m", 5)
        assert await line.unprocessed("S", "d") > 5
        return heard

    heard = talk(account, work)
    assert heard and {*heard} == {"s"}


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "workqueue"])
def test_a_stream_with_sources_of_its_own_gets_another_name_and_goes_on_with_them(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> bool:
        line = Pipeline(js, tmp_path)
        origin, queue = "O: {subjects: [o.>]}", retention == "workqueue"
        old = f"OLD: {{retention: {retention}, {C % ''}%s}}"
        await line.applied(f"streams: {{{origin}, {old % ', subjects: [s.>], sources: [{name: O}]'}}}")
        await line.publish("s.a", 20)
        await line.publish("o.a", 20)
        await line.copied("OLD", 40)
        await line.process("OLD", "c", 10)
        copying = "" if queue else ", NEW: {sources: [{name: OLD}]}"
        await line.applied(f"streams: {{{origin}, {old % ', subjects: [s.>], sources: [{name: O}]'}{copying}}}")
        last = done(await js.request("STREAM.INFO.O"))["state"]["last_seq"]
        await line.applied(f"streams: {{{origin}, {old % ''}{copying}}}")
        await line.publish("o.a", 15)
        start = "" if queue else START % (await line.copied("NEW", 40) + 1)
        own = f"subjects: [s.>], sources: [{{name: O, opt_start_seq: {last + 1}}}]"
        await line.applied(f"streams: {{{origin}, {old % ''}, NEW: {{{own}, retention: {retention}, {C % start}}}}}")
        await line.publish("s.a", 10)
        await line.copied("NEW", 25 if queue else 65)
        await line.process("OLD", "c")
        await line.process("NEW", "c")
        own = own.replace(f", opt_start_seq: {last + 1}", "")
        await line.applied(f"streams: {{{origin}, {old % ''}, NEW: {{{own}, retention: {retention}, {C % start}}}}}")
        await line.publish("o.a", 5)
        await line.copied("NEW", 5 if queue else 70)
        await line.process("NEW", "c")
        return line.each_once()

    assert talk(account, work)


@on_every_version
def test_a_mirror_gets_another_name_and_its_consumers_go_on_where_they_stood(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> bool:
        line = Pipeline(js, tmp_path)
        old = f"O: {{subjects: [o.>], max_msgs: 15}}, OLD: {{mirror: {{name: O}}, {C % ''}}}"
        await line.applied(f"streams: {{{old}}}")
        for stored in (15, 30):  # the origin keeps 15 of 30
            await line.publish("o.a", 15)
            await line.copied("OLD", stored)
        await line.process("OLD", "c", 10)
        await line.applied(f"streams: {{{old}, NEW: {{mirror: {{name: O}}}}}}")
        await line.copied("NEW", 15)
        first = done(await js.request("STREAM.INFO.NEW"))["state"]["first_seq"]
        await line.process("OLD", "c", first - 1 - 10)
        await line.publish("o.a", 5)
        floor = done(await js.request("CONSUMER.INFO.OLD.c"))["ack_floor"]["stream_seq"]
        assert floor >= first - 1
        await line.copied("NEW", 20)
        await line.applied(f"streams: {{{old}, NEW: {{mirror: {{name: O}}, {C % (START % (floor + 1))}}}}}")
        await line.process("NEW", "c")
        return line.each_once()

    assert talk(account, work)


FROM = ", opt_start_seq: %d"
CC = "CC: {sources: [{name: %s, filter_subject: s.>%s}], consumers: {c: {ack_policy: explicit}}}"
MIRROR = "%s: {mirror: {name: %s}, consumers: {c: {ack_policy: explicit%s}}}"
GROUP = (
    "groups: {g: {type: elastic, max_members: 2, partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]}}"
)


async def read_by(line: Pipeline, *streams: str) -> list[Counter[str]]:
    """What the consumer of each is given, from where it stands to the end."""
    found = []
    for stream in streams:
        line.processed.clear()
        await line.process(stream, "c")
        found.append(Counter(line.processed))
    return found


@on_every_version
def test_copies_of_a_stream_follow_its_new_name(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        line = Pipeline(js, tmp_path)
        old, copies = "OLD: {%s}", f"{MIRROR % ('M', 'OLD', '')}, {CC % ('OLD', '')}"
        await line.applied(f"streams: {{{old % 'subjects: [s.>]'}, {copies}}}")
        await line.publish("s.a", 30)
        done(await js.request("STREAM.MSG.DELETE.OLD", {"seq": 7}))
        await line.applied(f"streams: {{{old % 'subjects: [s.>]'}, {copies}, NEW: {{sources: [{{name: OLD}}]}}}}")
        await line.applied(f"streams: {{{old % ''}, {copies}, NEW: {{sources: [{{name: OLD}}]}}}}")
        start = await line.copied("NEW", 29) + 1
        await line.copied("CC", 29)
        await line.copied("M", 29)
        new = f"NEW: {{subjects: [s.>], {GROUP}}}"
        both = CC % ("OLD", f"}}, {{name: NEW, filter_subject: s.>{FROM % start}")
        after = f"{new}, {CC % ('NEW', FROM % start)}, {MIRROR % ('M2', 'NEW', START % start)}"
        mirrors = f"{MIRROR % ('M', 'OLD', '')}, {MIRROR % ('M2', 'NEW', START % start)}"
        await line.applied(f"streams: {{{old % ''}, {new}, {both}, {mirrors}}}")
        await line.publish("s.a", 10)
        await line.copied("CC", 39)
        await line.applied(f"streams: {{{old % ''}, {MIRROR % ('M', 'OLD', '')}, {after}}}")
        await line.publish("s.a", 10)
        await line.copied("CC", 49)
        await line.copied("M2", 49)
        await line.copied("NEW-g", 49)
        copied, old_mirror, new_mirror = await read_by(line, "CC", "M", "M2")
        everything = Counter(line.published)
        assert old_mirror + new_mirror >= everything - Counter(["s.a 6"])
        assert (old_mirror + new_mirror).total() in (49, 50), "the mirror may have copied what was deleted, and once"
        assert copied - Counter(["s.a 6"]) == everything - Counter(["s.a 6"])
        going = ", ".join(f"{{address: {one}, reason: renamed}}" for one in ("stream/OLD", "stream/M", "consumer/M/c"))
        await line.applied(f"streams: {{{after}}}\nremoved: [{going}]")

    talk(account, work)


@on_every_version
def test_what_a_renamed_stream_keeps_for_a_moment_only_is_copied(account: Account, tmp_path: Path) -> None:
    """It holds one message of a subject, and a stream that sources it holds all."""

    async def work(js: JetStream) -> None:
        line = Pipeline(js, tmp_path)
        old, new = "OLD: {%smax_msgs_per_subject: 1}", "NEW: {%s, max_msgs_per_subject: 1}"
        one, two = "HIST: {sources: [{name: %s%s}]}", "HIST: {sources: [{name: OLD}, {name: NEW%s}]}"

        async def publish(so_far: int) -> None:
            for number in range(so_far + 1, so_far + 6):
                await line.publish("s.a", 1)
                await line.copied("HIST", number)

        await line.applied(f"streams: {{{old % 'subjects: [s.>], '}, {one % ('OLD', '')}}}")
        await publish(0)
        copying = new % "sources: [{name: OLD}]"
        await line.applied(f"streams: {{{old % 'subjects: [s.>], '}, {one % ('OLD', '')}, {copying}}}")
        await line.applied(f"streams: {{{old % ''}, {one % ('OLD', '')}, {copying}}}")
        start = FROM % (await line.copied("NEW", 1) + 1)
        await line.applied(f"streams: {{{old % ''}, {two % start}, {new % 'subjects: [s.>]'}}}")
        await publish(5)
        await line.applied(f"streams: {{{old % ''}, {one % ('NEW', start)}, {new % 'subjects: [s.>]'}}}")
        await publish(10)
        assert await line.copied("HIST", 15) == 15

    talk(account, work)


@on_every_version
@pytest.mark.parametrize("retention", ["workqueue", "interest"])
@pytest.mark.parametrize("copy", ["source", "mirror", "group"])
def test_what_copies_a_queue_follows_its_new_name_and_misses_nothing(
    account: Account, tmp_path: Path, copy: str, retention: str
) -> None:
    """Publishers begin as soon as the new queue takes their messages, and nothing but the copy wants these."""

    async def work(js: JetStream) -> None:
        line, kept, own = Pipeline(js, tmp_path), f"retention: {retention}", GROUP if copy == "group" else ""
        beside = {"source": ", " + CC % ("OLD", ""), "mirror": ", " + MIRROR % ("M", "OLD", ""), "group": ""}[copy]
        also = {"source": ", " + CC % ("OLD", "}, {name: NEW, filter_subject: s.>"), "group": "",
                "mirror": f"{beside}, {MIRROR % ('M2', 'NEW', '')}"}[copy]  # fmt: skip
        old, new = f"OLD: {{%s{kept}, {own}}}", f"NEW: {{subjects: [s.*], {kept}, {own}}}"
        await line.applied(f"streams: {{{old % 'subjects: [s.*], '}{beside}}}")
        first, second = {"source": ("CC", "CC"), "mirror": ("M", "M2"), "group": ("OLD-g", "NEW-g")}[copy]
        if retention == "interest":
            await listening(line, first)
        await line.publish("s.a", 30)
        await line.applied(f"streams: {{{old % ''}{beside}}}")
        await line.copied(first, 30)
        await while_applying(account, line, f"streams: {{{old % ''}, {new}{also}}}", ["s.a"])
        await line.publish("s.a", 20)
        assert len(line.published) > 50
        await line.copied(second, len(line.published) - (30 if second != first else 0))
        if copy == "source":
            await line.applied(f"streams: {{{old % ''}, {new}, {CC % ('NEW', '')}}}")
            assert (await read_by(line, "CC")) == [Counter(line.published)]

    talk(account, work)


async def listening(line: Pipeline, copy: str) -> None:
    """Returns when the server has set the copy up."""
    async with asyncio.timeout(30):
        while True:  # nothing announces it
            info = done(await line.js.request(f"STREAM.INFO.{copy}"))
            told = [*(info.get("sources") or ()), *filter(None, [info.get("mirror")])]
            if all(one["active"] >= 0 for one in told):
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(("account", "number"), [("2.12", 1), ("2.14", 3), ("2.15", 3)], indirect=["account"])
def test_a_message_id_that_comes_again_after_the_window_is_copied_under_the_new_name(
    account: Account, tmp_path: Path, number: int
) -> None:
    """Before 2.14 a copy has a window of its own, as the recipe says there."""

    async def work(js: JetStream) -> None:
        line, own = Pipeline(js, tmp_path), "duplicate_window: 100ms"
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {own}}}}}")
        for _ in range(3):
            await line.nc.jetstream().publish("s.a", b"x", headers={"Nats-Msg-Id": "one"})
            await asyncio.sleep(0.2)  # the window has to pass
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {own}}}, NEW: {{sources: [{{name: OLD}}]}}}}")
        await line.applied(f"streams: {{OLD: {{{own}}}, NEW: {{sources: [{{name: OLD}}]}}}}")
        await line.copied("NEW", number)
        await line.applied(f"streams: {{OLD: {{{own}}}, NEW: {{subjects: [s.>], {own}}}}}")
        assert done(await js.request("STREAM.INFO.NEW"))["state"]["messages"] == number

    talk(account, work)


ALL = "CC: {sources: [{name: O}%s]}"


@on_every_version
@pytest.mark.parametrize(
    ("held", "before", "then", "name"),
    [
        ("[o, s.*]", ALL % "", f"T: {{%s}}, {ALL % ', {name: T}'}", "CC"),
        ("[o]", ALL % "", f"T: {{%s}}, {ALL % ', {name: T}'}", "CC"),
        ("[o]", "", "T: {%s}, M: {mirror: {name: T}}", "M"),
        ("[o]", "", f"T: {{%s, {GROUP}}}", "T-g"),
    ],
    ids=["a source, from another stream", "a source", "a mirror", "a group"],
)
def test_a_new_interest_stream_takes_subjects_when_its_copies_listen(
    account: Account, tmp_path: Path, held: str, before: str, then: str, name: str
) -> None:
    async def work(js: JetStream) -> None:
        line, kept = Pipeline(js, tmp_path), "retention: interest"
        await line.applied(f"streams: {{O: {{subjects: {held}, {kept}}}, {before}}}")
        if before:
            await listening(line, "CC")
        after = then.replace("%s", f"subjects: [s.*], {kept}")
        await while_applying(account, line, f"streams: {{O: {{subjects: [o], {kept}}}, {after}}}", ["s.a"])
        await line.publish("s.a", 5)
        await line.copied(name, len(line.published))

    talk(account, work)


@on_every_version
def test_copies_of_a_mirror_follow_its_new_name(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        line = Pipeline(js, tmp_path)
        above = "O: {subjects: [s.>]}, OLD: {mirror: {name: O}}"
        kept = f"{MIRROR % ('M', 'OLD', '')}, {CC % ('OLD', '')}"
        await line.applied(f"streams: {{{above}, {kept}}}")
        await line.publish("s.a", 30)
        await line.copied("M", 30)
        await line.process("M", "c", 10)
        await line.applied(f"streams: {{{above}, {kept}, NEW: {{mirror: {{name: O}}}}}}")
        await line.copied("NEW", 30)
        last = await line.copied("OLD", 30)
        await line.copied("CC", 30)
        floor = done(await js.request("CONSUMER.INFO.M.c"))["ack_floor"]["stream_seq"]
        after = f"{MIRROR % ('M2', 'NEW', START % (floor + 1))}, {CC % ('NEW', FROM % (last + 1))}"
        new = f"NEW: {{mirror: {{name: O}}}}, {MIRROR % ('M', 'OLD', '')}, {after}"
        await line.applied(f"streams: {{{above}, {new}}}")
        await line.publish("s.a", 20)
        await line.copied("M2", 50)
        await line.copied("CC", 50)
        await line.process("M2", "c")
        assert line.each_once()
        (copied,) = await read_by(line, "CC")
        assert copied == Counter(line.published)

    talk(account, work)


@on_every_version
def test_copies_of_a_bucket_follow_its_new_name_and_get_each_key_once_more(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        line = Pipeline(js, tmp_path)
        every = "ALL: {history: 5, sources: [{name: KV_%s, filter_subject: $KV.%s.>}]}"
        old = "OLD: {}, TWIN: {mirror: {name: KV_OLD}}"
        await line.applied(f"kv_buckets: {{{old}, {every % ('OLD', 'OLD')}}}")
        await line.publish("$KV.OLD.a", 1)
        await line.publish("$KV.OLD.b", 1)
        await line.copied("KV_ALL", 2)
        await line.applied(f"kv_buckets: {{{old}, {every % ('OLD', 'OLD')}, NEW: {{}}}}")
        await line.publish("$KV.NEW.a", 1)
        await line.publish("$KV.NEW.b", 1)
        after = f"NEW: {{}}, TWIN2: {{mirror: {{name: KV_NEW}}}}, {every % ('NEW', 'NEW')}"
        await line.applied(f"kv_buckets: {{{old}, {after}}}")
        await line.publish("$KV.NEW.c", 1)
        await line.copied("KV_TWIN2", 3)
        await line.copied("KV_ALL", 5)
        going = ", ".join(f"{{address: kv_bucket/{one}, reason: renamed}}" for one in ("OLD", "TWIN"))
        await line.applied(f"kv_buckets: {{{after}}}\nremoved: [{going}]")
        assert await line.copied("KV_ALL", 5) == 5

    talk(account, work)


PUSH = "consumers: {p: {ack_policy: explicit, deliver_subject: push.p%s}}"
GONE = "\nremoved: [{address: consumer/OLD/p, reason: moves}]"


async def _pushed(line: Pipeline) -> list[str]:
    """What the subscriber of push.p is given from now on, in that order."""
    got = list[str]()

    async def hear(message: Msg) -> None:
        got.append(message.data.decode())
        await message.respond(b"")

    await line.nc.subscribe("push.p", cb=hear)
    return got


async def _until(line: Pipeline, stream: str) -> None:
    async with asyncio.timeout(30):
        while await line.unprocessed(stream, "p"):  # noqa: ASYNC110 - nothing announces that all is acknowledged
            await asyncio.sleep(0.02)


@on_every_version
def test_subscribers_of_a_push_consumer_get_each_message_once_and_in_order(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        line = Pipeline(js, tmp_path)
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {PUSH % ''}}}}}")
        await line.publish("s.a", 20)
        await line.applied(f"streams: {{OLD: {{subjects: [s.>], {PUSH % ''}}}, NEW: {{sources: [{{name: OLD}}]}}}}")
        await line.applied(f"streams: {{OLD: {{{PUSH % ''}}}, NEW: {{sources: [{{name: OLD}}]}}}}")
        last = await line.copied("NEW", 20)
        await line.applied(f"streams: {{OLD: {{{PUSH % ''}}}, NEW: {{subjects: [s.>]}}}}")
        await line.publish("s.a", 10)
        got = await _pushed(line)
        await _until(line, "OLD")
        await line.applied(f"streams: {{OLD: {{}}, NEW: {{subjects: [s.>], {PUSH % (START % (last + 1))}}}}}{GONE}")
        await _until(line, "NEW")
        assert got == line.published

    talk(account, work)


@on_every_version
def test_a_mirror_under_another_name_pushes_each_message_once(account: Account, tmp_path: Path) -> None:
    origin, mirror = "O: {subjects: [s.>]}", "%s: {mirror: {name: O}, %s}"

    async def work(js: JetStream) -> None:
        line = Pipeline(js, tmp_path)
        await line.applied(f"streams: {{{origin}, {mirror % ('OLD', PUSH % '')}}}")
        got = await _pushed(line)
        await line.publish("s.a", 20)
        await line.copied("OLD", 20)
        await _until(line, "OLD")
        floor = done(await js.request("CONSUMER.INFO.OLD.p"))["ack_floor"]["stream_seq"]
        new = mirror % ("NEW", PUSH % (START % (floor + 1)))
        await line.applied(f"streams: {{{origin}, OLD: {{mirror: {{name: O}}}}, {new}}}{GONE}")
        await line.publish("s.a", 10)
        await line.copied("NEW", 30)
        await _until(line, "NEW")
        assert got == line.published

    talk(account, work)
