"""What a run by chance tells: who survived, what was not even tested, and what changes nothing but a sentence."""

from __future__ import annotations

import pytest

from tests.sabotage.by_chance import Mutant, told


def mutant(name: str, code: int | None, *lines: str) -> Mutant:
    return Mutant(file="sums.py", name=name, code=code, lines=lines)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (('-    raise Wrong("it is too large")', '+    raise Wrong("XXit is too largeXX")'), True),
        (('-    if more("than one", 2):', '+    if more("than one", 3):'), False),
        (('-    return said["messages"]', '+    return said["XXmessagesXX"]'), False),
        (('-    tell("what", "it is too large")', '+    tell("WHAT", "it is too large")'), False),
        (("-    return one > other", "+    return one >= other"), False),
    ],
    ids=["a sentence", "a number beside one", "a name", "a name beside one", "a sign"],
)
def test_only_a_sentence_is_words_alone(lines: tuple[str, ...], words: bool) -> None:
    assert mutant("m", 0, *lines).changes_words_alone is words


def test_the_score_is_of_those_that_change_more_than_words() -> None:
    found = [
        mutant("killed", 1), mutant("endless", 36),
        mutant("survivor", 0, "-    a", "+    b"), mutant("lonely", 33, "-    c", "+    d"),
        mutant("chatter", 0, '-    say("so it is")', '+    say("SO IT IS")'),
    ]  # fmt: skip
    said = list(told(found, words=False))
    assert said[:2] == ["survived: survivor\n    -    a\n    +    b", "not tested: lonely\n    -    c\n    +    d"]
    assert said[-1].split() == ["all", "5", "2", "1", "1", "1", "50.0%"]
    assert any("chatter" in line for line in told(found, words=True))
