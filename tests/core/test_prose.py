"""Everything that reconciler says is plain English: docs/style.md tells how, and this test what a machine can see of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.core.prose import LONGEST, Text, hard_to_read, texts

ROOT = Path(__file__).parents[2]
CODE = ROOT / "reconciler"
ROOMS = sorted(path.name for path in CODE.iterdir() if any(path.glob("**/*.py")))
PAIR = re.compile(r"^> \*\*Before:\*\* (?P<before>.+)\n>\n> \*\*After:\*\* (?P<after>.+)$", re.MULTILINE)


@cache
def _said(room: str) -> tuple[Text, ...]:
    return tuple(text for path in sorted((CODE / room).rglob("*.py")) for text in texts(path))


@pytest.mark.parametrize("room", ROOMS)
def test_every_text_of_the_room_is_easy_to_read(room: str) -> None:
    assert _said(room)
    assert [f"{text.where}: {why}" for text in _said(room) for why in hard_to_read(text)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "What is live is nothing that a file can say: it was declared elsewhere.",
        "What that costs here, only the account can tell.",
        "whose something is, and whether a run was cut off, nobody knows",
        "What is nobody's business is said in the file, and is told when it is of no use or over.",
        "Made anew where it stands, nothing is delivered again.",
        "whoever takes subjects has them before another consumer lets go of them",
        "There are two consumers that would get them.",
        "the server  deletes it",
        "word " * LONGEST + "too many",
    ],
)
def test_sentences_of_the_old_dialect_are_found(sentence: str) -> None:
    assert list(hard_to_read(Text("here", sentence, is_message=True)))


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no stream ORDERS.",
        "What happens at a limit: `old` removes the oldest messages, `new` refuses new ones.",
        "Apply deletes the oldest … of …; … has not processed … of them.",
        "word " * (LONGEST - 1) + "last. Next sentence.",
        "A consumer.\n\n    Of a stream.",
    ],
)
def test_plain_sentences_pass(sentence: str) -> None:
    assert list(hard_to_read(Text("here", sentence, is_message=True))) == []


def test_what_the_style_page_shows_as_good_is_what_the_code_says() -> None:
    code = " ".join(" ".join(text.words.split()) for room in ROOMS for text in _said(room)).casefold()
    pairs = PAIR.findall((ROOT / "docs" / "style.md").read_text(encoding="utf-8"))
    assert len(pairs) == 20
    assert [part for _, after in pairs for part in _parts(after) if part not in code] == []
    assert [before for before, _ in pairs if all(part in code for part in _parts(before))] == []


def _parts(sentence: str) -> list[str]:
    """What stands between the places that a run fills in."""
    return [part.strip(" ()") for part in sentence.casefold().split("…")]
