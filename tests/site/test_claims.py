"""What the first page says of a server without us is what every version of it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.site import scenes
from tests.site.place import ROOT
from tests.support.binaries import MINORS
from tests.support.servers import running

README = (ROOT / "README.md").read_text(encoding="utf-8")
BEFORE = re.compile(r"^<!-- scene: ((?:stream|consumer|publish|work) .+) -->$", re.MULTILINE)
"""What happens on that page before its first plan."""


def _number(pattern: str) -> int:
    """The one that the page says there."""
    found = re.search(pattern, " ".join(README.split()))
    assert found, pattern
    return int(re.sub(r"[_,]", "", found[1]))


@pytest.mark.parametrize("minor", MINORS)
def test_the_server_alone_accepts_the_change_and_what_is_gone_is_what_the_page_says(minor: str, tmp_path: Path) -> None:
    with running(minor) as server:
        for words in BEFORE.findall(README):
            scenes.play(words, tmp_path, lambda _context: server.url)
        waiting = scenes.said(server.url, "CONSUMER.INFO.ORDERS.billing")["num_pending"]
        limit = _number(r"max_msgs: ([\d_]+) ")
        scenes.play(f"""update ORDERS '{{"max_msgs": {limit}}}'""", tmp_path, lambda _context: server.url)
        left = scenes.said(server.url, "STREAM.INFO.ORDERS")["state"]["messages"]
        still_waiting = scenes.said(server.url, "CONSUMER.INFO.ORDERS.billing")["num_pending"]
    assert left == _number(r"stored afterwards \| ([\d,]+) of")
    assert waiting - still_waiting == _number(r"never processed, and gone \| ([\d,]+) messages")
    assert waiting - still_waiting == _number(r"billing has not\s+processed ([\d_]+) of")
