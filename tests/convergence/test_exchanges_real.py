"""Exchanges on real servers: nothing is left to do, wherever the run is cut off, and no message is lost or comes twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from reconciler.changes.events import Finished
from reconciler.model.resource import Address
from reconciler.model.topology import Topology
from tests.convergence.drawing import Wishes, topology
from tests.convergence.exchanges import copy_exchanges, filter_exchanges, interest_exchanges, subject_exchanges
from tests.convergence.running import Real, remaining
from tests.primitives.bodies import Body
from tests.support.accounts import Account
from tests.support.topologies import read
from tests.support.versions import in_turn, on_every_version

TOGETHER = 12


def drawn(
    exchanges: Callable[[int], st.SearchStrategy[tuple[Wishes, Wishes]]], start: int
) -> tuple[Topology, Topology]:
    """Many exchanges as one topology before and one after."""
    first: dict[Address, Body] = {}
    then: dict[Address, Body] = {}

    @seed(start)
    @settings(max_examples=TOGETHER, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        was, becomes = data.draw(exchanges(start + len(first)))
        first.update(was)
        then.update(becomes)

    draw()
    return topology("drawn", first), topology("drawn", then, tuple(a for a in first if a not in then))


def carried_out(real: Real, wanted: Topology, steps: int | None = None) -> Finished:
    """Applied, or cut off after so many steps."""
    finished = real.apply(real.plan(wanted), steps)
    assert [(one.step.id, one.reason.message) for one in finished.went_wrong] == []
    assert finished.is_success or steps is not None, finished
    return finished


def left(real: Real, wanted: Topology) -> list[str]:
    return remaining(real.plan(wanted).plan, ())


@on_every_version
@pytest.mark.parametrize("exchanges", [subject_exchanges, copy_exchanges, filter_exchanges, interest_exchanges])
def test_servers_accept_every_step_of_an_exchange(
    account: Account, exchanges: Callable[[int], st.SearchStrategy[tuple[Wishes, Wishes]]]
) -> None:
    first, then = drawn(exchanges, 100)
    with Real(account) as real:
        carried_out(real, first)
        assert carried_out(real, then).done
        assert left(real, then) == []


SCENES = {
    "two streams exchange all they have": (
        "streams: {A: {subjects: [a]}, B: {subjects: [b]}}",
        "streams: {A: {subjects: [b]}, B: {subjects: [a]}}",
    ),
    "three streams in a ring": (
        "streams: {A: {subjects: [a.>, x]}, B: {subjects: [b.>]}, C: {subjects: [c.>]}}",
        "streams: {A: {subjects: [b.>, x]}, B: {subjects: [c.>]}, C: {subjects: [a.1, a.2.>]}}",
    ),
    "two consumers of a work queue exchange filters": (
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: "
        "{one: {ack_policy: explicit, filter_subject: q.a}, two: {ack_policy: explicit, filter_subject: q.b}}}}",
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: "
        "{one: {ack_policy: explicit, filter_subject: q.b}, two: {ack_policy: explicit, filter_subject: q.a}}}}",
    ),
    "two consumers of an interest stream exchange filters and are made anew": (
        "streams: {I: {subjects: [i.>], retention: interest, consumers: "
        "{one: {ack_policy: explicit, filter_subject: i.a}, two: {ack_policy: explicit, filter_subject: i.b}}}}",
        "streams: {I: {subjects: [i.>], retention: interest, consumers: {one: {ack_policy: explicit, filter_subject: i.b, "
        "max_waiting: 64}, two: {ack_policy: explicit, filter_subject: i.a, max_waiting: 64}}}}",
    ),
    "a consumer of a work queue takes all that another had": (
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: "
        "{one: {ack_policy: explicit, filter_subject: q.a}, two: {ack_policy: explicit, filter_subject: q.b}}}}",
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: {one: {ack_policy: explicit}}}}\n"
        "removed: [{address: consumer/W/two, reason: r}]",
    ),
    "limits are lowered with the consumers under them": (
        "streams: {L: {consumer_limits: {max_ack_pending: 500, inactive_threshold: 10m}, consumers: "
        "{own: {ack_policy: explicit, max_ack_pending: 400}, heir: {ack_policy: explicit}}}}",
        "streams: {L: {consumer_limits: {max_ack_pending: 100, inactive_threshold: 5m}, consumers: "
        "{own: {ack_policy: explicit, max_ack_pending: 50}, heir: {ack_policy: explicit}}}}",
    ),
    "one limit is lowered and the other raised": (
        "streams: {L: {consumer_limits: {max_ack_pending: 500, inactive_threshold: 5m}, consumers: "
        "{own: {ack_policy: explicit, max_ack_pending: 400, inactive_threshold: 4m}}}}",
        "streams: {L: {consumer_limits: {max_ack_pending: 100, inactive_threshold: 10m}, consumers: "
        "{own: {ack_policy: explicit, max_ack_pending: 50, inactive_threshold: 9m}}}}",
    ),
    "the place of a consumer is taken by another, under a limit": (
        "streams: {C: {max_consumers: 2, consumers: {a: {}, b: {}}}}",
        "streams: {C: {max_consumers: 2, consumers: {a: {}, c: {}}}}\nremoved: [{address: consumer/C/b, reason: r}]",
    ),
    "a pinned consumer of a work queue takes another's messages": (
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: {one: {ack_policy: explicit, filter_subject: q.a, "
        "priority_policy: pinned_client, priority_groups: [g]}, two: {ack_policy: explicit, filter_subject: q.b}}}}",
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: {one: {ack_policy: explicit, filter_subject: q.b, "
        "priority_policy: pinned_client, priority_groups: [h]}, two: {ack_policy: explicit, filter_subject: q.a}}}}",
    ),
    "a paused consumer of a work queue takes more, and stays paused": (
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: {one: {ack_policy: explicit, filter_subject: q.a, "
        "pause_until: '2090-01-01T00:00:00Z'}}}}",
        "streams: {W: {subjects: [q.>], retention: workqueue, consumers: {one: {ack_policy: explicit, filter_subject: 'q.*', "
        "pause_until: '2091-01-01T00:00:00Z'}}}}",
    ),
    "the one that copied is copied, and takes over the subjects": (
        "streams: {A: {subjects: [a]}, B: {sources: [{name: A}]}}",
        "streams: {A: {sources: [{name: B}]}, B: {subjects: [a]}}",
    ),
    "a chain of three is turned round": (
        "streams: {A: {subjects: [a]}, B: {subjects: [b], sources: [{name: A}]}, C: {subjects: [c], sources: [{name: B}]}}",
        "streams: {A: {subjects: [a], sources: [{name: B}]}, B: {subjects: [b], sources: [{name: C}]}, C: {subjects: [c]}}",
    ),
    "two that copy others copy each other's origin": (
        "streams: {A: {subjects: [a], sources: [{name: B}]}, B: {subjects: [b]}, "
        "C: {subjects: [c], sources: [{name: D}]}, D: {subjects: [d]}}",
        "streams: {A: {subjects: [a]}, B: {subjects: [b], sources: [{name: C}]}, "
        "C: {subjects: [c]}, D: {subjects: [d], sources: [{name: A}]}}",
    ),
    "a bucket comes where a stream had its subjects": (
        "streams: {A: {subjects: ['$KV.b.>', a]}, B: {subjects: [b]}}",
        "streams: {A: {subjects: [b]}, B: {subjects: [a]}}\nkv_buckets: {b: {}}",
    ),
}  # fmt: skip


@pytest.fixture
def real(account: Account) -> Iterator[Real]:
    with Real(account) as opened:
        yield opened


@in_turn("first, then", SCENES)
def test_a_run_cut_off_after_any_step_is_finished_by_the_next(
    real: Real, first: str, then: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before, wanted = (read(tmp_path_factory.mktemp("files"), text) for text in (first, then))
    carried_out(real, before)
    cut_off = 0
    for steps in range(1, len(real.plan(wanted).plan.steps) + 1):
        cut_off += not carried_out(real, wanted, steps).is_success
        carried_out(real, wanted)
        assert left(real, wanted) == [], f"cut off after {steps} steps"
        real.clean()
        carried_out(real, before)
    assert cut_off
