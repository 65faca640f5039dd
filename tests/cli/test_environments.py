"""`--environment`: one topology for several accounts, each reached as its environment says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial

import pytest

from tests.cli.running import Shell
from tests.support.accounts import Account
from tests.support.repository import Repository

TEXT = """\
reconciler: 1
topology: orders
parameters: {keep: {type: duration, default: 7d}}
environments:
  dev: {context: dev}
  prod:
    context: prod
    values: {keep: 30d}
    overlay:
      streams: {ORDERS: {max_msgs: 100, consumers: {debug: {not_here: true}}}}
streams:
  ORDERS:
    subjects: [orders.>]
    max_age: ${keep}
    consumers:
      billing: {ack_policy: explicit}
      debug: {ack_policy: none}
"""


@pytest.fixture
def places(shell: Shell, new_account: Callable[..., Account]) -> dict[str, Account]:
    """Two accounts, and the context of each."""
    shell.write(TEXT)
    made = {"dev": new_account(), "prod": new_account()}
    folder = shell.folder / "config" / "nats" / "context"
    folder.mkdir(parents=True)
    for name, account in made.items():
        context = {"url": account.url, "user": account.user, "password": account.password}
        (folder / f"{name}.json").write_text(json.dumps(context), encoding="utf-8")
    return made


@pytest.fixture
def run(shell: Shell, places: dict[str, Account]) -> Callable[..., tuple[int, str]]:
    def run(*arguments: str) -> tuple[int, str]:
        elsewhere = {} if "--context" in arguments else {"NATS_URL": "nats://127.0.0.1:1"}
        ran = shell(*arguments, XDG_CONFIG_HOME=str(shell.folder / "config"), **elsewhere)
        return ran.code, ran.out + ran.err

    return run


Run = Callable[..., tuple[int, str]]


def test_each_environment_is_planned_applied_and_compared_in_its_own_account(run: Run) -> None:
    code, said = run("plan", "topology.yaml", "--environment", "*")
    assert code == 0
    assert "orders in dev → account" in said
    assert "orders in prod → account" in said
    assert "Next: reconciler apply --environment prod topology.yaml\n" in said
    assert run("apply", "topology.yaml", "--environment", "prod", "--yes")[0] == 0
    assert "nothing to do" in run("plan", "topology.yaml", "--environment", "prod")[1]
    assert "3 creates" in run("plan", "topology.yaml", "--environment", "dev")[1]
    assert run("apply", "topology.yaml", "--environment", "*", "--yes")[0] == 0
    code, said = run("drift", "topology.yaml", "--environment", "*")
    assert (code, said.count("no drift")) == (0, 2)
    for format_ in ("github", "junit", "markdown"):
        said = run("drift", "topology.yaml", "--environment", "prod", "--format", format_)[1]
        assert ("orders in prod → account" in said, "orders in prod: orders in prod" in said) == (True, False), said
    exported = {name: run("export", "--context", name)[1] for name in ("dev", "prod")}
    assert ["debug" in said for said in exported.values()] == [True, False]
    assert ["max_age: 7d" in exported["dev"], "max_age: 30d" in exported["prod"]] == [True, True]


def test_no_environment_is_chosen_by_chance(run: Run) -> None:
    code, said = run("plan", "topology.yaml")
    assert (code, "topology.yaml:5:3 error XX518" in said, "--environment dev" in said) == (1, True, True)
    code, said = run("apply", "topology.yaml", "--environment", "prd", "--yes")
    assert (code, "no environment `prd`; did you mean `prod`?" in said) == (1, True)


def test_what_fails_in_one_environment_is_no_matter_of_the_others(run: Run, shell: Shell) -> None:
    shell.write(TEXT.replace("{context: dev}", "{server: 'nats://127.0.0.1:1'}"))
    code, said = run("plan", "topology.yaml", "--environment", "*")
    assert (code, "dev: Cannot reach nats://127.0.0.1:1" in said, "orders in prod → account" in said) == (1, True, True)


def test_an_option_says_where_in_place_of_the_environment(run: Run, places: dict[str, Account]) -> None:
    code, said = run("plan", "topology.yaml", "--environment", "prod", "--context", "dev")
    assert (code, f"account {places['dev'].user}" in said, "--context dev" in said) == (0, True, True)


def test_a_saved_plan_names_the_place_that_its_files_named(run: Run) -> None:
    code, said = run("plan", "topology.yaml", "--environment", "prod", "--out", "plan.json")
    assert (code, "Next: reconciler apply plan.json --context prod" in said) == (0, True)
    assert run("apply", "plan.json", "--context", "prod", "--yes")[0] == 0
    assert "no drift" in run("drift", "topology.yaml", "--environment", "prod")[1]


@pytest.mark.parametrize("arguments", [
    ("adopt", "topology.yaml", "--yes"), ("unlock", "topology.yaml"), ("permissions", "plan", "topology.yaml"),
    ("upgrade-check", "topology.yaml", "--server-version", "2.15"), ("render", "topology.yaml"),
    ("drift", "restore", "topology.yaml", "--yes"),
])  # fmt: skip
def test_every_command_that_reads_files_takes_an_environment(run: Run, arguments: tuple[str, ...]) -> None:
    empty = 4 if arguments[0] == "adopt" else 0
    codes = [run(*arguments, *more)[0] for more in ((), ("--environment", "prd"), ("--environment", "prod"))]
    assert codes == [1, 1, empty]


@pytest.mark.parametrize("arguments", [("plan", "--out", "p.json"), ("drift", "--only", "stream/*")])
def test_what_works_on_one_environment_takes_no_pattern(run: Run, arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    code, said = run(command, "topology.yaml", "--environment", "*", *rest)
    assert (code, "`*` can mean several environments, and this command or one of its options works on one" in said) == (
        1,
        True,
    )


def test_two_environments_are_compared_as_files(run: Run) -> None:
    code, said = run("render", "topology.yaml", "--diff", "dev", "prod")
    assert (code, "-    max_age: 7d\n+    max_age: 30d\n" in said, "-      debug:\n" in said) == (0, True, True)
    assert run("render", "topology.yaml", "--diff", "dev", "prod", "--environment", "dev")[0] == 64


def test_a_review_shows_the_environments_that_change(shell: Shell) -> None:
    repository = Repository.at(shell.folder / "repository")
    repository.commit({"t.yaml": TEXT})
    repository.write({"t.yaml": TEXT.replace("max_msgs: 100", "max_msgs: 50")})
    here = Shell(repository.folder)
    said = here("review", "--base", "HEAD").out
    assert ("orders in prod since" in said, "orders in dev since" in said) == (True, False)
    assert "max_msgs  100 → 50" in said
    assert here("review", "--base", "HEAD", "--environment", "dev").out.startswith("No object changes")
    assert "reconciler plan --environment prod ." in " ".join(said.split())


def test_files_that_get_environments_are_compared_with_what_they_were(shell: Shell) -> None:
    repository = Repository.at(shell.folder / "repository")
    head, _, streams = TEXT.partition("parameters:")
    repository.commit({"t.yaml": head + "streams:" + streams.split("streams:")[-1].replace("${keep}", "7d")})
    repository.write({"t.yaml": TEXT})
    said = Shell(repository.folder)("review", "--base", "HEAD").out
    assert ("max_age   7d → 30d" in said, "orders in dev" in said, "created" in said) == (True, False, False)


def test_a_review_shows_that_an_environment_leads_elsewhere(shell: Shell) -> None:
    repository = Repository.at(shell.folder / "repository")
    repository.commit({"t.yaml": LED})
    repository.write({"t.yaml": LED.replace("context: a", "context: b, expect: {account: B}")})
    said = " ".join(Shell(repository.folder)("review", "--base", "HEAD").out.split())
    assert "RV105" in said
    assert "environment prod leads to context b, and until now to context a" in said
    assert "the account that is expected is B, and until now any" in said


LED = "reconciler: 1\ntopology: orders\nenvironments: {prod: {context: a}}\nstreams: {S: {subjects: [s]}}\n"


def test_a_pattern_that_matches_nothing_and_an_empty_name_are_told(run: Run) -> None:
    code, said = run("plan", "topology.yaml", "--environment", "x*")
    assert (code, "no environment of topology orders matches `x*`" in said) == (1, True)
    assert run("validate", "topology.yaml", "--environment", "")[0] == 64


def test_a_pattern_means_for_each_topology_its_own_environments(run: Run, shell: Shell) -> None:
    other = "reconciler: 1\ntopology: pay\nenvironments: {dev: {context: dev}}\nstreams: {PAY: {subjects: [pay.>]}}\n"
    code, said = run("plan", "topology.yaml", shell.write(other, "pay.yaml"), "--environment", "*")
    assert code == 0
    assert ["pay in dev" in said, "orders in dev" in said, "orders in prod" in said, "pay in prod" in said] == [
        True
    ] * 3 + [False]


def test_what_is_wrong_everywhere_is_told_once_and_what_is_not_names_its_environment(shell: Shell) -> None:
    everywhere = shell("validate", shell.write(TEXT.replace("max_age: ${keep}", "max_age: ${keep}\n    max_agee: 1")))
    assert (everywhere.code, everywhere.out.count("max_agee"), "prod:" in everywhere.out) == (1, 1, False)
    in_one = shell("validate", shell.write(TEXT.replace("max_msgs: 100", "max_msgs: many")))
    assert (in_one.code, in_one.out.count("prod: "), "orders in dev: 3 resources" in in_one.out) == (1, 1, True)


PLAIN = "reconciler: 1\ntopology: never\nstreams: {NV: {subjects: [nv]}}\n"
"""A topology without environments, in the folder of one that has some."""


def test_beside_a_topology_without_environments_the_others_are_validated_in_theirs(shell: Shell) -> None:
    (shell.folder / "all").mkdir()
    shell.write(PLAIN, "all/never.yaml")
    shell.write(TEXT, "all/orders.yaml")
    every = shell("validate", "all")
    assert (every.code, re.findall(r"^(.+): \d resource", every.out, re.MULTILINE)) == (
        0, ["never", "orders in dev", "orders in prod"],
    )  # fmt: skip
    prod = shell("validate", "all", "--environment", "prod")
    assert (prod.code, re.findall(r"^(.+): \d resource", prod.out, re.MULTILINE)) == (0, ["orders in prod"])
    assert prod.err == "Left out, without an environment prod: never.\n"
    misspelt = shell("validate", "all", "--environment", "prd")
    assert (misspelt.code, misspelt.out.count("error XX518")) == (1, 2)


def test_beside_a_topology_without_environments_the_one_to_choose_is_planned(run: Run, shell: Shell) -> None:
    (shell.folder / "all").mkdir()
    shell.write(PLAIN, "all/never.yaml")
    shell.write(TEXT, "all/orders.yaml")
    code, said = run("plan", "all")
    assert (code, "XX518: topology orders has environments" in said, "--environment dev" in said) == (1, True, True)
    code, said = run("plan", "all", "--environment", "dev")
    assert (code, "orders in dev" in said, "stream/NV" in said) == (0, True, False)
    assert "Left out, without an environment dev: never." in said
    code, said = run("plan", "all", "--environment", "prd")
    assert (code, said.count("error XX518")) == (1, 2)


def test_beside_a_topology_without_environments_the_others_are_reviewed_in_theirs(shell: Shell) -> None:
    repository = Repository.at(shell.folder / "repository")
    repository.commit({"orders.yaml": TEXT, "never.yaml": PLAIN, "same.yaml": PLAIN.replace("never", "same")})
    repository.write({"never.yaml": PLAIN.replace("[nv]", "[nv, more]")})
    review = partial(Shell(repository.folder), "review", "--base", "HEAD", "--environment")
    alone = review("prod")
    assert (alone.code, alone.err) == (0, "Left out, without an environment prod: never.\n")
    repository.write({"orders.yaml": TEXT.replace("30d", "20d")})
    both = review("prod")
    assert (both.code, both.err, both.out.startswith("orders in prod since")) == (0, alone.err, True)
    assert "never" not in both.out
    misspelt = review("prd")
    assert (misspelt.code, misspelt.err.count("error XX518")) == (1, 2)


@pytest.mark.parametrize(("way", "said"), [
    ("context: nowhere", "error NA106: Context `nowhere` does not exist"),
    ('server: "nats://127.0.0.1:99999"', "error NA107: Server 1 of 1 is not a server URL"),
])  # fmt: skip
def test_a_wrong_way_to_an_environment_is_told_at_its_place(shell: Shell, way: str, said: str) -> None:
    file = shell.write(TEXT.replace("dev: {context: dev}", f"dev: {{{way}}}"))
    place = f"topology.yaml:5:{10 + len(way.partition(' ')[0])}"
    for command in (("plan",), ("drift", "restore", "--yes")):
        ran = shell(*command, file, "--environment", "dev", NATS_TIMEOUT="soon")
        assert (ran.code, f"{place} {said}" in ran.err) == (1, True), ran
    every = shell("plan", file, "--environment", "*")
    assert (every.code, f"{place} {said.replace(': ', ': dev: ', 1)}" in every.out) == (1, True), every
