"""Consent at the top level of the files reaches every kind: by a pattern of addresses, and by a label. Whatever a case of any rule
asks consent for is given it like this."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.changes.verdict import Verdict
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address
from tests.rules.test_advice import place
from tests.rules.test_rules import FILES, found, prepared


def asking(code: str) -> Iterator[tuple[dict[str, Any], list[Verdict]]]:
    """The cases in which the rule asks for consent, with what it says there."""
    for case, verdicts in found(code):
        asked = [one for one in verdicts if one.blocks and one.consentable]
        if asked and "allow" not in case["desired"]:
            yield case, asked


def left(case: dict[str, Any], file: dict[str, Any], code: str, folder: Path) -> list[str]:
    """Where consent to this rule is still missing."""
    text = StringIO()
    YAML().dump(file, text)
    plan = prepared({**case, "desired": text.getvalue()}, folder).plan()
    verdicts = (one for change in plan.changes for one in change.verdicts)
    return [one.message for one in verdicts if one.code == code and one.consentable and one.consented is None]


def entries(verdicts: list[Verdict], on: list[str]) -> list[dict[str, Any]]:
    """One for each value."""
    values = {str(one.to): one.to for one in verdicts}.values()
    given = [{"code": verdicts[0].code, "to": value, "on": each, "reason": "meant"} for value in values for each in on]
    return [{key: value for key, value in one.items() if value is not None} for one in given]


def wide(address: str) -> str:
    """`stream/ORDERS` as a pattern: `stream/O*`."""
    above, _, name = address.rpartition("/")
    return f"{above}/{name[:1]}*"


@pytest.mark.parametrize("code", FILES)
def test_a_pattern_of_addresses_is_consent(code: str, tmp_path: Path) -> None:
    for number, (case, verdicts) in enumerate(asking(code)):
        file = YAML(typ="safe").load(case["desired"])
        file["allow"] = entries(verdicts, sorted({wide(one.address) for one in verdicts}))
        assert left(case, file, code, tmp_path / str(number)) == [], case["case"]


@pytest.mark.parametrize("code", FILES)
def test_a_label_is_consent(code: str, tmp_path: Path) -> None:
    for number, (case, verdicts) in enumerate(asking(code)):
        if "removed:" in case["desired"]:
            continue  # what is removed carries no label
        file = YAML(typ="safe").load(case["desired"])
        for one in verdicts:
            place(file, Address.parse(one.address))["labels"] = {"plan": "trial"}
        file["allow"] = entries(verdicts, ["plan=trial"])
        assert left(case, file, code, tmp_path / str(number)) == [], case["case"]


def test_every_kind_asks_for_consent_in_some_case() -> None:
    asked = (verdict for code in FILES for _, verdicts in asking(code) for verdict in verdicts)
    kinds = {Address.parse(one.address).kind for one in asked}
    assert kinds == {kind.name for kind in REGISTRY.kinds}
