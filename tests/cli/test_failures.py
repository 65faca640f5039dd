"""Whatever keeps a command from its work: its format prints a document of that format all the same, and holds what is wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from xml.etree import ElementTree

import jsonschema
import pytest

from reconciler.report.formats import FORMATS
from tests.cli.running import ROOT, Shell, on_a_terminal
from tests.cli.test_with_server import SMALL, target
from tests.report.sarif_schema import LOG
from tests.support.accounts import Account
from tests.support.servers import running

FINDINGS = json.loads((ROOT / "schemas" / "findings.schema.json").read_text())
WRONG = "reconciler: 1\ntopology: t\nstreams:\n  A: {subjectz: [a]}\n"
DEAF = ("--server", "127.0.0.1:1")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is said to a command, and what has to come of it."""

    said: tuple[str, ...]
    code: str
    message: str
    line: int = 1
    """Of the file, where the format wants a place."""
    exits: int = 1


FAILURES = {
    "a file that is wrong": Failure(("wrong.yaml", *DEAF), "ST501", "did you mean `subjects`", line=4),
    "a file that is not there": Failure(("none.yaml", *DEAF), "XX520", "`none.yaml` does not exist"),
    "a file that is no YAML": Failure(("torn.yaml", *DEAF), "XX510", "", line=3),
    "nobody listens": Failure(("fine.yaml", *DEAF), "NA101", "connection refused"),
    "a password that is wrong": Failure(("fine.yaml", "-s", "GUARDED", "--user", "x", "--password", "y"), "NA102", ""),
    "no JetStream": Failure(("fine.yaml", "-s", "PLAIN"), "NA104", "JetStream"),
    "a value that is no time": Failure(("fine.yaml", "--timeout", "soon"), "XX921", "for example 5s", exits=64),
    "a consent for nothing": Failure(("fine.yaml", "--allow", "ST301"), "XX921", "ST301=stream/ORDERS", exits=64),
    "an option that is none": Failure(("--bogus", "fine.yaml"), "XX921", "No such option", exits=64),
    "a value for a value": Failure(("fine.yaml", "--value", "=x"), "XX921", "write a name and its value", exits=64),
    "no files at all": Failure((), "XX921", "Missing argument", exits=64),
}
COMMANDS = {
    "plan": tuple(FAILURES),
    "drift": tuple(name for name in FAILURES if name != "a consent for nothing"),
    "rehearse": tuple(FAILURES),
    "apply": tuple(FAILURES),
    "validate": ("an option that is none", "a value for a value", "no files at all"),
    "review": ("an option that is none", "a value for a value"),
}
ALSO = {"apply": ("--yes",), "review": ("--base", "HEAD")}
MACHINES = tuple(name for name in FORMATS if name != "text")
TABLE = [
    (command, format_, name)
    for command, names in COMMANDS.items()
    for format_, name in product(("json",) if command == "apply" else MACHINES, names)
]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    with running(config="authorization {user: u, password: p}") as guarded, running(jetstream=False) as plain:
        yield {"GUARDED": guarded.url, "PLAIN": plain.url}


def of_json(text: str) -> Iterator[tuple[str, str, int]]:
    found = json.loads(text)
    jsonschema.Draft202012Validator(FINDINGS).validate(found)
    for one in found["diagnostics"]:
        yield one["code"], one["message"], one.get("span", {}).get("line", 1)


def of_sarif(text: str) -> Iterator[tuple[str, str, int]]:
    found = json.loads(text)
    jsonschema.Draft202012Validator(LOG).validate(found)
    for one in found["runs"][0]["results"]:
        place = one["locations"][0]["physicalLocation"]
        yield one["ruleId"], one["message"]["text"], place["region"]["startLine"]


def of_junit(text: str) -> Iterator[tuple[str, str, int]]:
    for case in ElementTree.fromstring(text).iter("testcase"):
        for wrong in case.iter("failure"):
            yield wrong.get("type", ""), wrong.get("message", ""), int(case.get("line", 1))


def of_github(text: str) -> Iterator[tuple[str, str, int]]:
    for line in text.splitlines():
        if line.startswith("::error "):
            said, _, message = line.removeprefix("::error ").partition("::")
            about = dict(part.partition("=")[::2] for part in said.split(","))
            yield about["title"].split()[0], message, int(about.get("line", 1))


def of_page(text: str) -> Iterator[tuple[str, str, int]]:
    """What people read as Markdown or in a browser: it is there, whatever is around it."""
    for failure in FAILURES.values():
        plain = text.replace("&#96;", "`").replace("<code>", "`").replace("</code>", "`").replace("\\", "")
        if failure.code in text:
            yield failure.code, plain, failure.line


READ: dict[str, Callable[[str], Iterator[tuple[str, str, int]]]] = {
    "json": of_json, "sarif": of_sarif, "junit": of_junit, "github": of_github, "markdown": of_page, "html": of_page,
}  # fmt: skip


@pytest.mark.parametrize(("command", "format_", "name"), TABLE)
def test_the_document_holds_what_is_wrong(
    shell: Shell, servers: dict[str, str], command: str, format_: str, name: str
) -> None:
    shell.write(SMALL, "fine.yaml")
    shell.write(WRONG, "wrong.yaml")
    shell.write("topology: t\nstreams: {A: [\n", "torn.yaml")
    failure = FAILURES[name]
    said = [servers.get(word, word) for word in failure.said]
    ran = shell(command, *said, *ALSO.get(command, ()), "--format", format_)
    assert ran.code == failure.exits
    assert any(
        (code, line) == (failure.code, failure.line) and failure.message.casefold() in message.casefold()
        for code, message, line in READ[format_](ran.out)
    ), ran.out
    assert ran.err


def committed(shell: Shell, text: str) -> None:
    """As the one commit of a repository."""
    shell.write(text)
    for said in (["init", "-q"], ["add", "."], ["-c", "user.name=u", "-c", "user.email=e", "commit", "-qm", "one"]):
        subprocess.run(["git", *said], cwd=shell.folder, check=True)


@pytest.mark.parametrize("format_", MACHINES)
def test_a_review_of_files_that_are_wrong_is_a_document(shell: Shell, format_: str) -> None:
    committed(shell, SMALL)
    shell.write(WRONG)
    ran = shell("review", ".", "--base", "HEAD", "--format", format_)
    assert ran.code == 1
    assert [(code, line) for code, _, line in READ[format_](ran.out)] == [("ST501", 4)]


@pytest.mark.parametrize("format_", MACHINES)
def test_a_review_of_a_revision_that_is_none_is_a_document(shell: Shell, format_: str) -> None:
    committed(shell, SMALL)
    ran = shell("review", ".", "--base", "nowhere", "--format", format_)
    assert ran.code == 1
    assert ("XX540" in ran.out) and (format_ in ("markdown", "html") or [*READ[format_](ran.out)])


def test_the_report_files_are_written_too(shell: Shell) -> None:
    reports = [part for name in MACHINES for part in ("--report", f"{name}={name}.out")]
    assert shell("plan", shell.write(WRONG), "--timeout", "soon", *reports).code == 64
    assert [name for name in MACHINES if "XX921" not in (shell.folder / f"{name}.out").read_text()] == []


def test_a_report_that_cannot_be_written_takes_nothing_from_what_is_said(shell: Shell) -> None:
    ran = shell("plan", shell.write(WRONG), *DEAF, "--format", "json", "--report", "sarif=no/such/folder.sarif")
    assert ran.code == 1
    assert [code for code, _, _ in of_json(ran.out)] == ["ST501"]
    assert "did you mean" in ran.err
    assert "Cannot write no/such/folder.sarif" in ran.err


def test_a_document_that_was_begun_stays_the_only_one(shell: Shell, account: Account) -> None:
    """A plan that was printed, and a report beside it that could not be written."""
    ran = shell("plan", shell.write(SMALL), "--format", "json", "--report", "sarif=no/such.sarif", *target(account))
    assert ran.code == 1
    assert json.loads(ran.out)["summary"]["create"] == 2
    assert "Cannot write no/such.sarif" in ran.err


def test_an_apply_that_nobody_agrees_to_says_so_by_its_own_contract(shell: Shell, account: Account) -> None:
    ran = on_a_terminal(shell, "n\n", "apply", shell.write(SMALL), "--format", "json", *target(account))
    found = json.loads(ran.out)
    jsonschema.Draft202012Validator(json.loads((ROOT / "schemas" / "apply.schema.json").read_text())).validate(found)
    assert (ran.code, found["exit_code"], found["stopped"], found["done"]) == (1, 1, "not confirmed", [])


def test_a_watch_that_cannot_begin_says_so_in_a_line(shell: Shell) -> None:
    ran = shell("drift", "watch", shell.write(WRONG), "--format", "json", *DEAF)
    (line,) = ran.out.splitlines()
    assert (ran.code, json.loads(line)["event"]) == (1, "wrong")
    assert json.loads(line)["diagnostics"][0]["span"]["line"] == 4


def test_people_find_it_on_stderr_alone(shell: Shell) -> None:
    ran = shell("plan", shell.write(WRONG), *DEAF)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("topology.yaml:4:7 error ST501")
