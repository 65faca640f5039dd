"""`init`: a first file of what nobody owns, or a small one to begin with; nothing is overwritten, nothing but files written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reconciler.journeys.export.first import Part, first, starter
from reconciler.journeys.plan.validate import validate
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.snapshot import Scope, Snapshot, Target
from reconciler.model.wire.version import SUPPORTED, Version
from tests.cli.running import Shell
from tests.support.accounts import Account
from tests.support.jetstream import make_bucket, make_consumer, make_stream, talk

OWNED = "reconciler: 1\ntopology: billing\nstreams:\n  B:\n    subjects: [b]\n    consumers: {c: {}}\n"
IN_CLUSTER = Target(version=Version.parse("2.12.8"), cluster="prod-eu", domain="hub")


def target(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


@pytest.fixture
def held(shell: Shell, account: Account) -> Shell:
    """Two streams, a consumer and a bucket that nobody owns, one of the consumers on somebody's stream."""
    assert shell("apply", shell.write(OWNED, "b.yaml"), "--yes", *target(account)).code == 0

    async def make(js) -> None:  # type: ignore[no-untyped-def]
        await make_stream(js, "A")
        await make_stream(js, "X", subjects=["x.>"])
        await make_consumer(js, "A", "worker")
        await make_consumer(js, "B", "free")
        await make_bucket(js, "config")

    talk(account, make)
    return shell


def written(shell: Shell, file: str) -> str:
    return (shell.folder / file).read_text()


# -- an account


def test_what_nobody_owns_is_written_and_the_rest_left_to_its_owners(held: Shell, account: Account) -> None:
    ran = held("init", "shop", *target(account))
    assert (ran.code, ran.err) == (0, "")
    text = written(held, "shop/shop.yaml")
    assert text.startswith("# yaml-language-server: $schema=topology.schema.json\nreconciler: 1\ntopology: shop\n")
    assert "  B:\n    external: true\n    consumers:\n      free:\n" in text
    assert "c: {}" not in text
    assert "2 streams, 2 consumers, 1 kv bucket that nobody owns yet. The account was only read." in ran.out
    assert "Left to their owners: 2 of billing." in ran.out


def test_what_is_said_to_be_next_works_and_leaves_nothing_to_do(held: Shell, account: Account) -> None:
    said = held("init", "shop", *target(account)).out
    lines = [line.split("#")[0].split()[1:] for line in re.findall(r"reconciler (?:validate|plan|adopt) .*", said)]
    assert [line[:2] for line in lines] == [["validate", "shop"], ["plan", "shop"], ["adopt", "shop"]]
    login = target(account)[2:]
    assert held(*lines[0]).code == 0
    assert "No object changes." in held(*lines[1], *login, "--exit-code").out
    assert held(*lines[2], *login, "--yes").code == 0
    assert "nothing to do" in held(*lines[1], *login).out


def test_the_account_is_only_read(held: Shell, account: Account) -> None:
    before = held("export", *target(account)).out
    sent_before = talk(account, lambda js: js.read("STREAM.INFO.KV_reconciler"))["state"]["last_seq"]  # type: ignore[index]
    assert held("init", "shop", *target(account)).code == 0
    assert held("export", *target(account)).out == before
    assert talk(account, lambda js: js.read("STREAM.INFO.KV_reconciler"))["state"]["last_seq"] == sent_before  # type: ignore[index]


def test_each_stream_can_have_a_file_and_the_folder_is_one_topology(held: Shell, account: Account) -> None:
    ran = held("init", "shop", "--layout", "stream", "--only", "*/A*", *target(account))
    assert "Wrote shop/shop.yaml and 1 file beside it: 1 stream, 1 consumer" in ran.out
    first_line = written(held, "shop/streams/A.yaml").splitlines()[0]
    assert first_line == "# yaml-language-server: $schema=../topology.schema.json"
    assert "No object changes." in held("plan", "shop", *target(account)).out


def test_a_selection_that_fits_nothing_writes_nothing_and_says_so(held: Shell, account: Account) -> None:
    ran = held("init", "shop", "--only", "strem/A", *target(account))
    assert (ran.code, (held.folder / "shop").exists()) == (1, False)
    assert "--only strem/A matches nothing that is live" in ran.err


def test_a_topology_that_owns_something_here_is_not_begun_again(held: Shell, account: Account) -> None:
    ran = held("init", "billing", *target(account))
    assert (ran.code, (held.folder / "billing").exists()) == (1, False)
    assert "it owns 2 objects here" in ran.err


def test_where_everything_has_its_owner_nothing_is_written(held: Shell, account: Account) -> None:
    ran = held("init", "shop", "--only", "*/B/c", *target(account))
    assert (ran.code, (held.folder / "shop").exists()) == (1, False)
    assert "has its owner already (1 of billing)" in ran.err


def test_an_empty_account_gets_a_starter_that_applies_as_it_is(shell: Shell, account: Account) -> None:
    ran = shell("init", "shop", *target(account))
    assert (ran.code, "a stream and a consumer to begin with" in ran.out) == (0, True)
    assert shell("apply", "shop", "--yes", *target(account)).code == 0
    assert "nothing to do, 2 resources as declared" in shell("plan", "shop", *target(account)).out


def test_a_server_that_does_not_answer_is_named_with_the_way_to_begin_without_one(shell: Shell) -> None:
    for said, variables in ((("--server", "nats://127.0.0.1:1"), {}), ((), {"NATS_URL": "nats://127.0.0.1:1"})):
        ran = shell("init", "my shop", *said, **variables)
        assert (ran.code, ran.out, (shell.folder / "my shop").exists()) == (1, "", False)
        assert "Cannot reach nats://127.0.0.1:1" in ran.err
        assert "reconciler init 'my shop' --starter" in ran.err
    assert shell("init", "my shop", "--starter", NATS_URL="nats://127.0.0.1:1").code == 0


def test_an_owner_whose_name_is_an_order_to_terminals_is_named_and_not_obeyed(shell: Shell, account: Account) -> None:
    file = shell.write(OWNED.replace("billing", '"\\e[31mred"'), "b.yaml")
    assert shell("apply", file, "--yes", *target(account)).code == 0
    talk(account, lambda js: make_stream(js, "FREE"))
    ran = shell("init", "shop", *target(account))
    assert "Left to their owners: 2 of \\x1b[31mred." in ran.out
    assert "2 of \\x1b[31mred" in shell("init", "other", "--only", "*/B*", *target(account)).err


# -- nothing


def test_without_any_server_a_starter_is_written_and_the_next_commands_are_for_this_folders_own(shell: Shell) -> None:
    ran = shell("init", "shop")
    assert (ran.code, ran.err) == (0, "")
    assert "reconciler apply shop --dev" in ran.out
    assert "topology: shop " in written(shell, "shop/shop.yaml")


def test_a_starter_is_right_for_every_version_and_so_is_what_its_comments_offer(tmp_path: Path) -> None:
    (text,) = starter("shop").files.values()
    offered = re.sub(r"^( *)# (?=[a-z_]+:|  )", r"\1", text, flags=re.MULTILINE)
    assert {"kv_buckets", "removed", "num_replicas", "expect"} <= set(re.findall(r"^ *(\w+):", offered, re.MULTILINE))
    for name, one in (("as-it-is.yaml", text), ("offered.yaml", offered)):
        (file := tmp_path / name).write_text(one)
        for version in SUPPORTED:
            assert validate([file], version)[1] == []


@pytest.mark.parametrize("name", ["on", "2.12", "$${x}", "a: b # c", "o" * 200, "émigré"])
def test_a_starter_of_any_name_is_read_back_by_that_name(shell: Shell, name: str) -> None:
    assert shell("init", "f", "--topology", name).code == 0
    assert json.loads(shell("validate", "f", "--format", "json").out)["topology"] == name


# -- files


def test_a_file_that_is_there_is_named_and_stays(shell: Shell) -> None:
    (shell.folder / "shop").mkdir()
    shell.write("mine", "shop/shop.yaml")
    ran = shell("init", "shop")
    assert (ran.code, ran.out, written(shell, "shop/shop.yaml")) == (1, "", "mine")
    assert "shop/shop.yaml" in ran.err
    assert not (shell.folder / "shop" / "topology.schema.json").exists()


def test_a_link_that_leads_nowhere_is_in_the_way_too(shell: Shell) -> None:
    (shell.folder / "shop").mkdir()
    (shell.folder / "shop" / "shop.yaml").symlink_to("elsewhere.yaml")
    ran = shell("init", "shop")
    assert (ran.code, "shop/shop.yaml" in ran.err) == (1, True)
    assert [one.name for one in (shell.folder / "shop").iterdir()] == ["shop.yaml"]


def test_a_topology_that_other_files_of_the_folder_declare_is_not_begun_in_one_more(shell: Shell) -> None:
    (shell.folder / "shop").mkdir()
    shell.write("reconciler: 1\ntopology: shop\nstreams: {A: {}}\n", "shop/streams.yaml")
    ran = shell("init", "shop")
    assert (ran.code, [one.name for one in (shell.folder / "shop").iterdir()]) == (1, ["streams.yaml"])
    assert "shop/streams.yaml is of topology `shop` already" in ran.err


def test_beside_files_of_others_the_next_commands_name_the_new_one_alone(shell: Shell) -> None:
    shell.write("reconciler: 1\ntopology: other\nstreams: {A: {}}\n", "other.yaml")
    ran = shell("init", "--topology", "shop")
    assert (ran.code, "reconciler validate shop.yaml" in ran.out) == (0, True)
    assert shell("validate", "shop.yaml").code == 0


def test_the_schema_of_the_repository_is_used_where_there_is_one(shell: Shell) -> None:
    for folder in (".git", "schemas", "teams"):
        (shell.folder / folder).mkdir()
    shell.write("{}", "schemas/topology.schema.json")
    ran = shell("init", "teams/shop")
    assert written(shell, "teams/shop/shop.yaml").startswith(
        "# yaml-language-server: $schema=../../schemas/topology.schema.json\n"
    )
    assert (ran.out.count("Wrote"), [one.name for one in (shell.folder / "teams/shop").iterdir()]) == (1, ["shop.yaml"])


# -- what is decided


def test_a_cluster_is_expected_by_its_name_and_version() -> None:
    snapshot = Snapshot(target=IN_CLUSTER, streams={"A": {"config": {"name": "A", "subjects": ["a"]}, "state": {}}})
    (text,) = first(snapshot, REGISTRY, Part(topology="t")).files.values()
    assert 'expect:\n  cluster: prod-eu\n  domain: hub\n  min_server: "2.12"\n' in text
    (text,) = first(Snapshot(target=IN_CLUSTER), REGISTRY, Part(topology="t")).files.values()
    assert '\nexpect: {cluster: prod-eu, domain: hub, min_server: "2.12"}\n' in text


def test_an_account_that_could_not_be_read_is_not_taken_for_an_empty_one() -> None:
    snapshot = Snapshot(target=IN_CLUSTER, unknown={Scope.STREAMS: "no answer"}, denied={Scope.STREAMS})
    with pytest.raises(CannotContinue, match="streams could not be read"):
        first(snapshot, REGISTRY, Part(topology="t"))


def test_where_nobody_knows_who_owns_what_nothing_passes_for_free_without_a_word() -> None:
    usual = {"duplicate_window": 120_000_000_000}
    names = ("A", "KV_reconciler")
    streams = {name: {"config": {"name": name, "subjects": [name], **usual}, "state": {}} for name in names}
    unread = {Scope.bucket("reconciler"): "no answer"}
    with pytest.raises(CannotContinue, match="Bucket reconciler"):
        first(Snapshot(target=IN_CLUSTER, streams=streams, unknown=unread), REGISTRY, Part(topology="t"))
    denied = Snapshot(target=IN_CLUSTER, streams=streams, unknown=unread, denied=set(unread))
    (said,) = first(denied, REGISTRY, Part(topology="t")).left_out
    assert "what others own may stand in the file" in said.message
