"""`export --into`: a file for each owner or stream, in names every file system takes, and nothing overwritten unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell
from tests.support.accounts import Account
from tests.support.jetstream import make_bucket, make_consumer, make_stream, talk

OWNED = "reconciler: 1\ntopology: {name}\nstreams:\n  {stream}:\n    subjects: [{stream}]\n"
HOSTILE = ["orders", "ORDERS", "aux", "o" * 200, "émigré", "on", "a=b"]


def target(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


@pytest.fixture
def owned(shell: Shell, account: Account) -> Shell:
    """Two owners, one of them with a consumer on the other's stream, and a stream that is nobody's."""
    protecting = OWNED.format(name="shop", stream="A") + "    protect: true\n"
    theirs = OWNED.format(name="billing", stream="B") + "  A: {external: true, consumers: {c: {}}}\n"
    for number, text in enumerate((protecting, theirs)):
        ran = shell("apply", shell.write(text, f"{number}.yaml"), "--yes", *target(account))
        assert ran.code == 0, ran
    talk(account, lambda js: make_stream(js, "N"))
    return shell


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.yaml"))}


def test_each_owner_has_a_file_whose_plan_is_empty(owned: Shell, account: Account) -> None:
    assert owned("export", "--into", "live", *target(account)).code == 0
    found = files(owned.folder / "live")
    assert list(found) == ["billing.yaml", "exported.yaml", "shop.yaml"]
    assert "  A:\n    external: true\n    consumers:\n      c: {}\n" in found["billing.yaml"]
    assert "protect: true" in found["shop.yaml"]
    for name in found:
        ran = owned("plan", f"live/{name}", "--exit-code", *target(account))
        told = "No object changes." if name == "exported.yaml" else "nothing to do"
        assert (ran.code, told in ran.out) == (0, True), ran


def test_each_stream_has_a_file_in_the_folder_of_its_owner(owned: Shell, account: Account) -> None:
    ran = owned("export", "--into", "live", "--layout", "stream", *target(account))
    assert sorted(files(owned.folder / "live")) == [
        "billing/streams/A.yaml", "billing/streams/B.yaml", "exported/streams/N.yaml", "shop/streams/A.yaml",
    ]  # fmt: skip
    assert "Next: reconciler plan live/billing" in ran.err
    assert owned("plan", "live/billing", "--exit-code", *target(account)).code == 0


def test_one_file_of_several_owners_says_that_it_is(owned: Shell, account: Account) -> None:
    ran = owned("export", *target(account))
    assert (ran.code, "XX910" in ran.err, "billing, shop" in ran.err) == (0, True, True)


def test_a_file_of_a_new_topology_says_whose_it_is_and_the_plan_that_works(owned: Shell, account: Account) -> None:
    ran = owned("export", "--topology", "new", "--output", "new.yaml", *target(account))
    taking = "--take-over billing --take-over shop"
    assert (ran.code, "XX910" in ran.err, "topology `new`" in ran.err) == (0, True, True), ran
    assert " ".join(ran.err.split()).count(taking) == 2, "as the next step, and as the way out"
    assert owned("plan", "new.yaml", *target(account)).code == 4
    assert owned("plan", "new.yaml", *taking.split(), "--exit-code", *target(account)).code == 0


def test_a_file_of_its_only_owner_is_nobody_elses(owned: Shell, account: Account) -> None:
    ran = owned("export", "--topology", "shop", "--only", "stream/A", *target(account))
    assert (ran.code, ran.err) == (0, "")


def test_the_same_account_gives_the_same_bytes_under_hostile_names(shell: Shell, account: Account) -> None:
    async def make(js) -> None:  # type: ignore[no-untyped-def]
        for name in HOSTILE:
            await make_stream(js, name, subjects=[f"s.{name}"], metadata={"b": "1", "a": "2"})
            await make_consumer(js, name, "Ä")
        await make_bucket(js, "orders")

    talk(account, make)
    for folder in ("one", "two"):
        assert shell("export", "--into", folder, "--layout", "stream", *target(account)).code == 0
    one = files(shell.folder / "one")
    assert one == files(shell.folder / "two")
    assert len({name.casefold() for name in one}) == len(HOSTILE) + 1
    ran = shell("plan", "one/exported", "--exit-code", *target(account))
    assert (ran.code, ran.err) == (0, "")


def test_nothing_is_overwritten_unasked_and_nothing_written_beside_it(owned: Shell, account: Account) -> None:
    (owned.folder / "live").mkdir()
    owned.write("mine", "live/shop.yaml")
    ran = owned("export", "--into", "live", *target(account))
    assert (ran.code, "live/shop.yaml" in ran.err) == (1, True)
    assert files(owned.folder / "live") == {"shop.yaml": "mine"}


def test_what_an_older_export_left_behind_is_named(owned: Shell, account: Account) -> None:
    (owned.folder / "live").mkdir()
    owned.write("topology: old", "live/old.yaml")
    owned.write("mine", "live/shop.yaml")
    ran = owned("export", "--into", "live", "--overwrite", *target(account))
    assert (ran.code, "XX909" in ran.err, "live/old.yaml" in ran.err) == (0, True, True)
    assert "topology: shop" in (owned.folder / "live" / "shop.yaml").read_text()


def test_a_part_of_the_account_is_exported_alone(owned: Shell, account: Account) -> None:
    ran = owned("export", "--into", "live", "--only", "consumer/*", "--only", "strem/X", *target(account))
    assert (list(files(owned.folder / "live")), "XX907" in ran.err) == (["billing.yaml"], True)
