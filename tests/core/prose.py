"""What reconciler says: every text in its code, and what makes one hard to read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 40
"""More words than that are more than one sentence."""
INSTEAD = {
    "anew": "recreate, or again",
    "is told": "learns, or reconciler reports it",
    "are told": "learn, or reconciler reports it",
    "lets go": "gives up",
    "let go": "give up",
    "takes in": "copies, captures or stores",
    "taken in": "copied, captured or stored",
    "comes again": "is redelivered",
    "come again": "are redelivered",
    "delivered again": "redelivered",
    "goes on": "continues",
    "works off": "processes",
    "worked off": "processed",
    "for ever": "forever",
    "for good": "forever, or cannot be undone",
    "of ours": "of this topology, or of reconciler",
    "not ours": "not owned by this topology",
    "nobody's": "without an owner",
    "somebody else's": "another owner's",
    "whoever takes": "the consumer, stream or client that takes",
    "as it stands": "as it is",
    "where it stands": "its position",
    "stands beside": "comes with",
    "stands here": "is listed",
    "says ok": "answers ok, or accepts it",
    "without a word": "silently, or without notice",
    "of use or over": "useless or expired",
    "heeds": "uses, or follows",
}
"""Phrases of a dialect that only its speakers understood, and what to write instead."""
_ANY = re.compile(rf"\b({'|'.join(map(re.escape, INSTEAD))})\b", re.IGNORECASE)
_OPENING = re.compile(r"there (?:is|are|was|were) (?!no\b|nothing\b)", re.IGNORECASE)
"""“There is no stream S.” says what is missing; any other such sentence hides its subject."""
_BE = r"\b(?:is|are|was|were)\b"
_HEADLESS = re.compile(
    rf"(?:what|where|whoever|whose|whether)\b(?:.*{_BE}.*{_BE}|[^?:]*, (?:only|nobody|no)\b)[^?]*$", re.IGNORECASE
)
"""“What is live is …”, “What that costs, only the account can tell.”"""
_TWO_SPACES = re.compile(r"\w[.,;:]?  \w")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*…])")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the code; `…` stands for what a run fills in."""

    where: str
    words: str
    is_message: bool
    """Not documentation of the code."""


def texts(path: Path) -> Iterator[Text]:
    """Strings with words in them, and documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    parts = {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            words = _words(node)
            is_message = id(node) not in documentation
            if id(node) not in parts and " " in words.strip() and not (is_message and "\\" in words):  # no patterns
                yield Text(f"{path}:{node.lineno}", words, is_message)


def _words(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)


def hard_to_read(text: Text) -> Iterator[str]:
    """What a reader stumbles over, with what to write instead."""
    lines = [line for line in map(str.strip, text.words.splitlines()) if not line.startswith(">>>")]
    for found in _ANY.findall(" ".join(lines)):
        yield f"“{found}”: {INSTEAD[found.lower()]}"
    if any(_TWO_SPACES.search(line) for line in lines):
        yield "two spaces"
    for paragraph in re.split(r"\n\s*\n", text.words):
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            yield from _of_a_sentence(sentence, text.is_message)


def _of_a_sentence(sentence: str, is_message: bool) -> Iterator[str]:
    if len(sentence.split()) > LONGEST:
        yield f"more than {LONGEST} words: {sentence}"
    if _OPENING.match(sentence):
        yield f"begin with the thing itself: {sentence}"
    if is_message and _HEADLESS.match(sentence):
        yield f"name the subject: {sentence}"
