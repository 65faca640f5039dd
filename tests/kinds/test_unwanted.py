"""A plan notes what an interest stream does not store of what it begins to capture, and what another retention means later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.topologies import scene


def stream(retention: str = "interest", subjects: str = "s.a.>", consumers: str = "", more: str = "") -> str:
    return f"streams: {{S: {{subjects: [{subjects}], retention: {retention}, consumers: {{{consumers}}}{more}}}}}"


ACKS, NONE = "c: {ack_policy: explicit, filter_subject: s.a.>}", "p: {ack_policy: none}"
NOT_STORED = "publishes on {} will be acknowledged and not stored: no consumer of S wants them (XX245)"
KEPT = "from then on the stream keeps what consumers have acknowledged, and what none wants, until a limit deletes it (ST302)"


def notes(folder: Path, desired: str, live: str = "") -> list[str]:
    made = scene(folder, desired, live).plan()
    found = [one for change in made.changes for one in change.consequences if one.code in ("XX245", "ST302")]
    return [one.message for one in found]


@pytest.mark.parametrize(
    ("desired", "live", "said"),
    [
        (stream(), "", [NOT_STORED.format("s.a.>")]),
        (stream(consumers=ACKS), "", []),
        (stream(subjects="s.a.>, s.b.>", consumers=ACKS), "", [NOT_STORED.format("s.b.>")]),
        (stream(more=", groups: {g: {type: static, members: [m], max_members: 1}}"), "", []),
        (stream("limits"), "", []),
        (stream("workqueue"), "", []),
        (stream(subjects="s.a.>, s.b.>", consumers=ACKS), stream(consumers=ACKS), [NOT_STORED.format("s.b.>")]),
        (stream(subjects="s.a.>, s.b.>", consumers=NONE), stream(consumers=NONE), []),
        (stream(more=", max_age: 1h"), stream(), []),
        (stream("limits", consumers=ACKS), stream(consumers=ACKS), [KEPT]),
        (stream(consumers=ACKS), stream("limits", consumers=ACKS), []),
        (stream(subjects="s.a.>, s.b", consumers=ACKS), stream("limits", "s.a.>, s.b", ACKS), [NOT_STORED.format("s.b")]),
        (
            stream(consumers=NONE), stream("limits", consumers=NONE),
            ["until the server restarts, it keeps messages that p (ack_policy: none) gets last, after all others (ST302)"],
        ),
    ],
)  # fmt: skip
def test_what_hurts_nobody_now_is_a_note(tmp_path: Path, desired: str, live: str, said: list[str]) -> None:
    assert notes(tmp_path, desired, live) == said
