"""`examples/company`, as a company would live with it: two teams, sixty tenants, three environments, ten policies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.running import EXAMPLES, Shell
from tests.support.accounts import Account
from tests.support.repository import Repository

TENANTS = ("--values", "company/tenants.yaml")
ORDERS, PAYMENTS = "company/orders", "company/payments"


class Said(NamedTuple):
    code: int
    text: str


Run = Callable[..., Said]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.at(tmp_path / "repository")
    for name in ("company", "policies"):
        shutil.copytree(EXAMPLES / name, made.folder / name)
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "as it was")
    return made


@pytest.fixture
def run(repository: Repository, tmp_path: Path, new_account: Callable[..., Account], clustered_account: Account) -> Run:
    """Runs commands in the repository, whose environments lead to two servers and a cluster."""
    contexts = tmp_path / "nats" / "context"
    contexts.mkdir(parents=True)
    places = {"dev": new_account(), "staging": new_account(), "prod-eu": clustered_account}
    for name, account in places.items():
        context = {"url": account.url, "user": account.user, "password": account.password}
        (contexts / f"company-{name}.json").write_text(json.dumps(context), encoding="utf-8")

    def run(*arguments: str) -> Said:
        ran = Shell(repository.folder)(*arguments, *TENANTS, XDG_CONFIG_HOME=str(tmp_path))
        return Said(ran.code, ran.out + ran.err)

    return run


def edit(repository: Repository, file: str, before: str, after: str) -> None:
    path = repository.folder / file
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_a_company_lives_with_its_files(run: Run, repository: Repository, clustered_account: Account) -> None:
    assert run("validate", ORDERS, PAYMENTS).code == 0
    said = run("apply", ORDERS, "--stages", "dev,staging,rest", "--yes")
    assert (said.code, "3 environments: 3 applied" in said.text) == (0, True), said.text
    said = run("apply", PAYMENTS, "--environment", "*", "--yes")
    assert (said.code, said.text.count("62 creates")) == (0, 6), said.text
    for team in (ORDERS, PAYMENTS):
        for environment in ("dev", "staging", "prod-eu"):
            assert run("plan", team, "--environment", environment, "--exit-code").code == 0, (team, environment)
        said = run("drift", team, "--environment", "*")
        assert (said.code, said.text.count("no drift")) == (0, 3), said

    # Somebody changes production by hand; drift says so, and restores it.
    keep_for_a_day(clustered_account, "ORDERS_T07")
    said = run("drift", ORDERS, "--environment", "prod-eu")
    assert (said.code, "ORDERS_T07" in said.text, "max_age" in said.text) == (3, True, True), said
    assert run("drift", "restore", ORDERS, "--environment", "prod-eu", "--yes").code == 0
    assert run("drift", ORDERS, "--environment", "prod-eu").code == 0

    # A tenant leaves. Plans tell it until it is written down, in one entry for each team; then its streams go, where messages
    # would be told as well.
    edit(repository, "company/tenants.yaml", "  T60: {tier: silver, keep: 7d}\n", "")
    said = run("plan", ORDERS, "--environment", "staging")
    assert (said.code, "stream/ORDERS_T60" in said.text, "Owned but no longer declared" in said.text) == (
        0,
        True,
        True,
    ), said
    gone = 'removed:\n  - {on: "*/ORDERS_T60*", upto: 3, reason: the tenant left}\n'
    path = repository.folder / ORDERS / "orders.yaml"
    path.write_text(path.read_text(encoding="utf-8") + gone, encoding="utf-8")
    payments = repository.folder / PAYMENTS / "payments.yaml"
    left = "removed:\n  - {on: consumer/ORDERS_T60/*, upto: 1, reason: the tenant left}\n"
    payments.write_text(payments.read_text(encoding="utf-8") + left, encoding="utf-8")
    for team in (PAYMENTS, ORDERS):
        said = run("apply", team, "--environment", "staging", "--yes")
        assert said.code == 0, said.text
    assert "ORDERS_T60" not in run("plan", ORDERS, "--environment", "staging", "--verbose").text

    # A review of all that, offline: what goes, in each environment.
    said = run("review", ORDERS, "--base", "HEAD")
    assert (said.code, "stream/ORDERS_T60" in said.text, "the tenant left" in said.text) == (0, True, True), said

    # A policy is violated in production, and waived there for a time.
    edit(
        repository,
        "company/orders/orders.yaml",
        "    max_bytes: 1GiB\n    num_replicas: ${copies}\n",
        "    max_bytes: 1GiB\n",
    )
    said = run("plan", ORDERS, "--environment", "prod-eu")
    assert (said.code, "ACME101 replicas-in-production, forbidden unless waived." in said.text) == (4, True), said
    assert "ACME109 replicas-not-lowered, forbidden unless waived." in said.text
    waivers = ", ".join(
        f"{{code: {code}, reason: moved next week, until: 2999-12-31}}" for code in ("ACME101", "ACME109")
    )
    edit(
        repository,
        "company/orders/prod-eu.yaml",
        "    max_bytes: 20GiB\n",
        f"    max_bytes: 20GiB\n    allow: [{waivers}]\n",
    )
    said = run("plan", ORDERS, "--environment", "prod-eu")
    assert "ACME101 replicas-in-production, waived (moved next week)." in said.text
    assert run("validate", ORDERS, "--environment", "prod-eu").code == 0
    assert run("plan", ORDERS, "--environment", "staging", "--exit-code").code == 0


def keep_for_a_day(account: Account, stream: str) -> None:
    """Somebody changes it by hand."""
    config = account.ask(f"STREAM.INFO.{stream}")["config"]
    answer = account.ask(f"STREAM.UPDATE.{stream}", {**config, "max_age": 86_400_000_000_000})
    assert "error" not in answer, answer
