"""The table: what came back older × how it ended, with counts; and everything that went wrong, in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.power.case import Outcome


def table(outcomes: Sequence[Outcome]) -> str:
    """One line for each scene, what was older, and how that ended."""
    counted = Counter((one.case.recording.scene.name, one.case.sort, _word(one)) for one in outcomes)
    wide = max(len(scene) for scene, _, _ in counted)
    head = f"{'scene':{wide}} {'came back':28} {'ended':44} points"
    rows = [f"{scene:{wide}} {sort:28} {word:44} {number:6}" for (scene, sort, word), number in sorted(counted.items())]
    return "\n".join([head, *rows])


def _word(one: Outcome) -> str:
    return one.word if one.is_good else "WRONG"


def summary(minor: str, outcomes: Sequence[Outcome]) -> str:
    good = [one for one in outcomes if one.is_good]
    stopped = sum(one.word.startswith("stopped") for one in good)
    bucket = sum(one.case.sort == "bucket older" for one in outcomes)
    passed = sum("passed over" in one.word for one in good)
    return (
        f"{minor}: {len(outcomes)} points ({bucket} with an older bucket), {len(good)} safe: {len(good) - stopped} converged, "
        f"{stopped} stopped with what to do; {passed} where the server itself passes over messages"
    )


def wrongs(outcomes: Sequence[Outcome]) -> list[str]:
    return [str(one) for one in outcomes if not one.is_good]
