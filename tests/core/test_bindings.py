"""What later steps learn of earlier ones: by closed functions, in the places they name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler.engine.bindings import BINDS, first_needed_sequence, soon_on_server, with_bound_values
from reconciler.model.wire.steps import Bind, Call, Step


def info(delivered: tuple[int, int], floor: tuple[int, int], **config: Any) -> dict[str, Any]:
    names = ("consumer_seq", "stream_seq")
    pairs = {"delivered": delivered, "ack_floor": floor}
    return {"config": config, **{key: dict(zip(names, pair, strict=True)) for key, pair in pairs.items()}}


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (info((9, 90), (4, 40)), 41),
        (info((9, 90), (4, 40)) | {"num_ack_pending": 5}, 41),
        (info((9, 90), (4, 40)) | {"num_ack_pending": 6}, None),
        (info((9, 45), (4, 41)) | {"num_ack_pending": 5}, None),
        (info((0, 90), (0, 0)), 91),
        (info((0, 90), (0, 90)), 91),
        (info((3, 93), (0, 90), deliver_policy="new"), 91),
        (info((3, 3), (0, 0), deliver_policy="all"), 1),
        (info((3, 3), (0, 0)), 1),
        (info((3, 57), (0, 0), deliver_policy="by_start_sequence", opt_start_seq=55), 55),
        (info((3, 93), (0, 0), deliver_policy="new"), None),
        (info((3, 93), (0, 0), deliver_policy="by_start_time"), None),
        ({"config": {}}, 1),
    ],
)
def test_where_to_go_on(said: dict[str, Any], first: int | None) -> None:
    assert first_needed_sequence(said) == first


def test_soon_is_by_the_servers_clock() -> None:
    assert soon_on_server({"ts": "2026-12-31T23:59:55.123456789Z"}) == "2027-01-01T00:00:05Z"


def test_every_name_has_its_function() -> None:
    assert set(BINDS) == set(Bind)


def test_a_value_goes_where_a_body_wants_it() -> None:
    step = Step(id="x", call=Call.CONSUMER_CREATE, on=("S", "c"), address="consumer/S/c", body={"opt_start_seq": 1, "name": "c"},
                uses={"opt_start_seq": "read"})  # fmt: skip
    assert with_bound_values(step, {"read": 43}).body == {"opt_start_seq": 43, "name": "c"}


def test_a_value_goes_into_a_record() -> None:
    step = Step(id="x", call=Call.ENTRY_PUT, on=("b", "k"), address="consumer/S/c", value='{"topology":"t","start":{"a":1}}',
                uses={"start.opt_start_seq": "read"})  # fmt: skip
    assert json.loads(with_bound_values(step, {"read": 43}).value or "") == {
        "topology": "t",
        "start": {"a": 1, "opt_start_seq": 43},
    }
