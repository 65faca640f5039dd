"""What a run over several environments, topologies or targets says in the end: one line, and one for each stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reconciler.journeys.rollout.divide import RolloutStage, few_names
from reconciler.model.dataclass import dataclass
from reconciler.model.units import show_duration
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible

NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the stages got."""

    stages: Sequence[RolloutStage]
    passed: int
    """How many of them are done, and passed."""
    why: tuple[str, ...] = ()
    """Why the next one was not done, or did not pass."""

    @property
    def failed_stage(self) -> RolloutStage | None:
        """The stage that did not pass; None where all did."""
        return self.stages[self.passed] if self.why else None


def summary_text(outcomes: Mapping[str, str], word: str) -> str:
    """Return `3 environments: 2 applied, 1 refused`, with what most of them have first."""
    counts = Counter(outcomes.values())
    return f"{counted(len(outcomes), word)}: {', '.join(f'{count:_} {outcome}' for outcome, count in counts.most_common())}"


def progress_lines(progress: Progress) -> Iterator[str]:
    """Yield a line for each stage: whether it is done, and if not, why not."""
    for number, stage in enumerate(progress.stages):
        yield f"Stage {number + 1}, {visible(stage.text)}: {_stage_fate_text(number, stage, progress)}"


def progress_sentence(progress: Progress) -> str:
    """Return the same in one sentence, for a message."""
    parts = [
        f"stage {number + 1} (`{visible(stage.text)}`) {_stage_fate_text(number, stage, progress)}"
        for number, stage in enumerate(progress.stages)
    ]
    return "; ".join(parts)


def stage_title(number: int, stage: RolloutStage, of: int) -> str:
    """Return `Stage 1 of 3, canary: dev`."""
    return f"Stage {number + 1} of {of}, {visible(stage.text)}: {member_names(stage)}"


def passed_line(number: int, stage: RolloutStage, word: str) -> str:
    """Return the line about a stage that passed."""
    many = len(stage.members) > 1
    whom = f"{'all ' if many else ''}{counted(len(stage.members), word)} {'plan' if many else 'plans'} empty"
    stayed = (
        f" and stayed without drift for {show_duration(round(stage.stay * 1e9))}" if stage.stay else ", without drift"
    )
    return f"Stage {number + 1} passed: {whom}{stayed}.\n"


def member_names(stage: RolloutStage) -> str:
    """Return the first members of a stage."""
    return few_names(stage.members).replace("`", "")


def _stage_fate_text(number: int, stage: RolloutStage, progress: Progress) -> str:
    if number < progress.passed:
        return "done"
    if number > progress.passed:
        return f"not begun ({member_names(stage)})"
    return f"not passed, because {'; '.join(progress.why)}"
