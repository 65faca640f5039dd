"""What a server echoes beside what was predicted of it, where a reading and a write do not see the same."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.journeys.plan.plan import predicted_forms
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.versions import on_every_version

UPDATE = Step(id="u", call=Call.CONSUMER_UPDATE, on=("S", "c"), address="consumer/S/c", set={"max_deliver": 7})


@on_every_version
def test_an_update_is_as_predicted_also_of_a_consumer_that_is_paused_since_it_was_read(account: Account) -> None:
    async def work(js: JetStream) -> tuple[str, Sequence[str]]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c")
        read = done(await js.request("CONSUMER.INFO.S.c"))["config"]
        done(await js.request("CONSUMER.PAUSE.S.c", {"pause_until": "2100-01-01T00:00:00Z"}))
        predicted = predicted_forms(await observe(js))
        sent = predicted.patch(read, UPDATE.set, ())
        body = {"stream_name": "S", "action": "update", "config": sent}
        echo = done(await js.request("CONSUMER.CREATE.S.c", body))["config"]
        return echo["pause_until"], predicted.wrong(UPDATE, sent, read, echo)

    assert talk(account, work) == ("2100-01-01T00:00:00Z", [])
