"""Pages in a real browser. Without one nothing here is collected, and a line at the end of the run says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.page import Page, browsing
from tests.support.browser import find

collect_ignore_glob = [] if find().program else ["test_*.py"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    """One for all tests of a process; each opens a page of its own."""
    with browsing(find()) as page:
        yield page
