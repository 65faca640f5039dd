"""Names become files on any file system: no two the same, none a device, none too long, the same ones every time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from reconciler.documents.write.atomic import file_names


def test_ordinary_names_are_files_of_that_name() -> None:
    assert file_names(["ORDERS", "orders-eu_1"]) == {"ORDERS": "ORDERS", "orders-eu_1": "orders-eu_1"}


def test_names_that_differ_in_case_alone_are_told_apart() -> None:
    stems = file_names(["ORDERS", "Orders", "PLAIN"])
    assert len({stem.casefold() for stem in stems.values()}) == 3
    assert stems["PLAIN"] == "PLAIN"


def test_what_is_a_device_on_windows_is_none_here() -> None:
    assert re.fullmatch("aux=[0-9a-f]{10}", file_names(["aux"])["aux"])


def test_what_leads_elsewhere_leads_nowhere() -> None:
    assert file_names(["../../etc/passwd"])["../../etc/passwd"] == "=2E=2E=2F=2E=2E=2Fetc=2Fpasswd"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), unique=True, max_size=8))
def test_every_name_has_a_safe_file_of_its_own(names: list[str]) -> None:
    stems = file_names(names)
    assert len({stem.casefold() for stem in stems.values()}) == len(names)
    assert all(re.fullmatch("[A-Za-z0-9_=-]{1,120}", stem) for stem in stems.values())


@given(st.permutations(["ORDERS", "orders", "aux", "é", "k" * 300]))
def test_the_order_in_which_names_come_means_nothing(names: list[str]) -> None:
    assert file_names(names) == file_names(sorted(names))
