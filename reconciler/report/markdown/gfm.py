"""Text that GitHub's Markdown shows and never obeys.

Escaping is not enough there: after Markdown is done, GitHub looks for mentions, issue numbers and links in all text but
code. So words that are not plain words become code, which is how names and values should look anyway.
"""

from __future__ import annotations

import html
import re

from reconciler.model.code_pages import rule_url
from reconciler.model.policy import is_policy
from reconciler.report.words.visible import visible

_WORD = re.compile(
    # in quotes or brackets, with its full stop
    r"[(\"'“]{0,2}(?!www\.)(?!GH-\d)[^\W_]+(?:[-'’.,:/×][^\W_]+)*%?[.,;:!?)\"'”…]{0,3}"
    r"|\d+(?:_\d{3})+[.,;:)]?"  # 1_200_000
    r"|[→←·…–—±×+]",
    re.IGNORECASE,
)
_HARMLESS = frozenset(";,?.'\"/")
_MOST = 600
"""The most characters of one value or sentence; a description may have 100,000."""


def code(text: str) -> str:
    """Return a code span, whatever is in it."""
    text = shortened(visible(text))
    if not text.strip():
        return "` `"
    runs = re.findall("`+", text)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " ") else ""
    return f"{fence}{space}{text}{space}{fence}"


def prose(text: str) -> str:
    """Render a sentence: text between backticks becomes code, and so does every word that could mean more than
    itself."""
    pieces = shortened(visible(text)).split("`")
    if len(pieces) % 2 == 0:  # a backtick without its partner stays as it is
        pieces[-2:] = [f"{pieces[-2]}'{pieces[-1]}"]
    rendered = [code(piece) if number % 2 else _words_as_code(piece) for number, piece in enumerate(pieces)]
    return "".join(piece for piece in rendered if piece)


def _words_as_code(text: str) -> str:
    """Turn words that are not plain into code, together with neighbours of that sort: `max_age: 7d`. A comma outside
    brackets parts them."""
    parts = re.split(r"(\s+)", text)
    text_so_far, names = "", list[str]()
    for number in range(0, len(parts), 2):
        word, gap = parts[number], "".join(parts[number + 1 : number + 2])
        if word and not _is_plain_word(word):
            names += [word, gap]
            if word.endswith(",") and _has_closed_brackets("".join(names)):
                text_so_far, names = text_so_far + _names_as_code(names), []
            continue
        text_so_far += _names_as_code(names) + _escaped_sign(word) + gap
        names = []
    return text_so_far + _names_as_code(names)


def _has_closed_brackets(text: str) -> bool:
    return all(text.count(opening) <= text.count(closing) for opening, closing in ("[]", "{}", "()"))


def _is_plain_word(word: str) -> bool:
    return _WORD.fullmatch(word) is not None or not any(map(str.isalnum, word))


def _escaped_sign(word: str) -> str:
    """Escape a sign so that it makes no heading, list, quote or rule."""
    if _WORD.fullmatch(word):
        return word
    return "".join(f"\\{c}" if c.isascii() and c not in _HARMLESS else c for c in word)


def _names_as_code(pieces: list[str]) -> str:
    """Split off the brackets around them and the stop that ends the sentence, and keep the gap that follows."""
    text = "".join(pieces)
    body = text.strip()
    name = body.lstrip("(")
    while name[-1:] in tuple(".,;:!?") or (name[-1:] == ")" and name.count(")") > name.count("(")):
        name = name[:-1]
    start = len(body) - len(body.lstrip("("))
    end = body[start + len(name) :]
    return body[:start] + code(name) + end + text[len(text.rstrip()) :] if name else text


def page_link(code: str) -> str:
    """Return a code as a link to its page. Policies have none."""
    return f"`{code}`" if is_policy(code) else f"[{code}]({rule_url(code)})"


def fenced(lines: list[str], language: str = "") -> list[str]:
    """Return a block in which nothing is obeyed; its fence is longer than any inside."""
    lines = [shortened(visible(part)) for line in lines for part in line.split("\n")]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *lines, fence]


def escaped_html(text: str) -> str:
    """Escape text for the inside of HTML, where Markdown is not looked for."""
    return html.escape(shortened(visible(text)))


def shortened(text: str, most: int = _MOST) -> str:
    """Cut the text to `most` characters, with its full length after the cut: `… (12_345 characters)`."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):_} characters)"


def folded(title: str, lines: list[str], *, is_open: bool = False, is_markup: bool = False) -> list[str]:
    """Fold text away until somebody opens it. The empty lines end the markup, so that Markdown begins again."""
    if not lines:
        return []
    summary = title if is_markup else escaped_html(title)
    lines = lines[1:] if lines[0] == "" else lines
    return [f"<details{' open' if is_open else ''}><summary>{summary}</summary>", "", *lines, "", "</details>"]
