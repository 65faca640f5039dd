"""Whose it becomes: taken over by name, by a topology's new name, or not at all; on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done

OTHER = "reconciler: 1\ntopology: other\n"
S = "streams: {S: {subjects: [s]}}\n"


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """Topology `t` owns S."""
    found = somebody(tmp_path, account, monkeypatch)
    found.applied(S)
    return found


def other(someone: Someone, text: str, *options: str, command: str = "apply") -> Ran:
    """The same account, from a topology of another name."""
    file = someone.write(OTHER + text, "other.yaml")
    return someone(command, file, *(["--yes"] if command == "apply" else []), *options)


def created(someone: Someone) -> str:
    async def read(js: JetStream) -> str:
        return str(done(await js.read("STREAM.INFO.S"))["created"])

    return someone.ask(read)


def test_what_is_taken_over_is_ours_and_untouched(someone: Someone) -> None:
    before = created(someone)
    ran = other(someone, S, "--take-over", "t")
    assert (ran.code, "Taken over from t" in ran.out, created(someone)) == (0, True, before), ran
    assert someone.has_nothing_to_do("other.yaml")
    refused = someone("plan", "topology.yaml")
    assert (refused.code, "Topology `other` owns this" in refused.out) == (4, True)


def test_the_refusal_says_how_to_take_over(someone: Someone) -> None:
    ran = other(someone, S, command="plan")
    told = " ".join(ran.out.split())
    assert (ran.code, "--take-over t" in told) == (4, True), ran.out
    assert "write `topology: t` again if `other` is a slip, or moved: [{from: topology/t, to: topology/other}]" in told


async def gone(js: JetStream) -> None:
    done(await js.write("STREAM.DELETE.S"))


@pytest.mark.parametrize(
    "text", [S, "streams: {T: {}}\nremoved: [{address: stream/S, reason: old}]\n"], ids=["declared", "removed"]
)
def test_what_is_gone_is_still_somebodys_until_it_is_taken_over(someone: Someone, text: str) -> None:
    someone.ask(gone)
    ran = other(someone, text)
    told = " ".join(ran.out.split())
    assert (ran.code, "--take-over t" in told, "S" in someone.ask(names)) == (4, True, False), ran
    assert someone("plan", "topology.yaml").code == 0, "it is still its owner's to make again"
    assert other(someone, text, "--take-over", "t").code == 0
    assert someone.has_nothing_to_do("other.yaml")


def test_a_renamed_topology_makes_again_what_is_gone(someone: Someone) -> None:
    someone.ask(gone)
    ran = other(someone, "moved: [{from: topology/t, to: topology/other}]\n" + S)
    assert (ran.code, someone.ask(names)) == (0, ["S"]), ran


def test_nobody_else_is_taken_from(someone: Someone) -> None:
    ran = other(someone, S, "--take-over", "somebody", command="plan")
    assert (ran.code, "XX101" in ran.out, "XX915" in ran.out) == (4, True, True), ran.out


def test_ones_own_name_takes_nothing_over(someone: Someone) -> None:
    ran = someone("plan", "topology.yaml", "--take-over", "t")
    assert (ran.code, "XX915" in ran.out) == (0, True), ran.out


def test_a_saved_plan_takes_over_as_it_was_told(someone: Someone) -> None:
    assert other(someone, S.replace("[s]", "[s, x]"), "--take-over", "t", "-o", "p.json", command="plan").code == 0
    ran = someone("apply", "p.json", "--yes")
    assert ran.code == 0, ran
    assert someone.has_nothing_to_do("other.yaml")


def test_a_saved_plan_says_that_taking_over_belongs_to_the_plan(someone: Someone) -> None:
    other(someone, S, "--take-over", "t", "-o", "p.json", command="plan")
    ran = someone("apply", "p.json", "--yes", "--take-over", "t")
    assert (ran.code, "--take-over" in ran.err) == (64, True)


def test_what_is_taken_over_may_be_removed_in_one_go(someone: Someone) -> None:
    ran = other(someone, "streams: {T: {}}\nremoved: [{address: stream/S, reason: ours now}]\n", "--take-over", "t")
    assert (ran.code, someone.ask(names)) == (0, ["T"]), ran


async def names(js: JetStream) -> list[str]:
    found = done(await js.request("STREAM.NAMES"))["streams"] or []
    return sorted(name for name in found if not name.startswith("KV_"))


def test_a_topology_that_was_renamed_keeps_what_it_owns_also_what_it_no_longer_declares(someone: Someone) -> None:
    someone.applied(S + "  \n".join(["kv_buckets: {B: {}}\n"]))
    renamed = "moved: [{from: topology/t, to: topology/other}]\n"
    ran = other(someone, renamed + S)
    assert (ran.code, "kv_bucket/B" in ran.out, "Taken over from t" in ran.out) == (0, True, True), ran
    gone = other(someone, S + "removed: [{address: kv_bucket/B, reason: empty}]\n")
    assert gone.code == 0, gone
    assert someone.has_nothing_to_do("other.yaml")


def test_a_saved_plan_knows_that_the_topology_was_renamed(someone: Someone) -> None:
    text = "moved: [{from: topology/t, to: topology/other}]\n" + S
    assert other(someone, text, "-o", "p.json", command="plan").code == 0
    assert someone("apply", "p.json", "--yes").code == 0
    assert someone.has_nothing_to_do("other.yaml")


def test_a_saved_plan_hands_over_what_is_declared_no_more(someone: Someone) -> None:
    text = "moved: [{from: topology/t, to: topology/other}]\nkv_buckets: {B: {}}\n"
    assert other(someone, text, "-o", "p.json", command="plan").code == 0
    assert someone("apply", "p.json", "--yes").code == 0
    assert "is done already" in someone("apply", "p.json", "--yes").out
    removed = other(someone, "kv_buckets: {B: {}}\nremoved: [{address: stream/S, reason: not needed}]\n")
    assert (removed.code, someone.ask(names)) == (0, []), removed


def test_a_lost_ledger_destroys_nothing(someone: Someone) -> None:
    """Without entries of its own a topology may not delete."""
    someone.ask(forget_everything)
    ran = someone.apply("streams: {T: {subjects: [t]}}\nremoved: [{address: stream/S, reason: r}]\n")
    assert (ran.code, "XX104" in ran.out, someone.ask(names)) == (4, True, ["S"]), ran
    someone.applied(S + "  \n".join(["kv_buckets: {B: {}}\n"]))  # the way out that it names
    assert someone.apply("kv_buckets: {B: {}}\nremoved: [{address: stream/S, reason: r}]\n").code == 0


async def forget_everything(js: JetStream) -> None:
    done(await js.write("STREAM.DELETE.KV_reconciler"))


def test_foreign_consumers_keep_a_stream_whatever_is_allowed(someone: Someone) -> None:
    mine = "streams: {S: {external: true, consumers: {c: {}, d: {}}}}\n"
    assert other(someone, mine).code == 0
    ran = someone.apply("kv_buckets: {B: {}}\nremoved: [{address: stream/S, reason: r}]\n", "--allow", "ST310=stream/S")
    assert (ran.code, "2 consumers of other topologies" in ran.out) == (4, True), ran.out
    assert someone.ask(names) == ["S"]


BUCKET = "max_msgs_per_subject: 1, discard: new, deny_delete: true, allow_rollup_hdrs: true, allow_direct: true"


def stored(name: str, subject: str, settings: str) -> str:
    """What may be somebody's bucket, as a plain stream."""
    return f"streams: {{Z: {{}}, {name}: {{subjects: [{subject}], {settings}}}}}\n"


@pytest.mark.parametrize(
    ("theirs", "stream", "subject", "settings"),
    [
        ("kv_buckets: {STD: {}}\n", "KV_STD", "$KV.STD.>", BUCKET),
        ("kv_buckets: {STD: {}}\n", "KV_STD", "$KV.STD.>, std", BUCKET),
        ("object_stores: {OS: {}}\n", "OBJ_OS", "$O.OS.C.>, $O.OS.M.>", BUCKET.split(", ", 1)[1].replace("deny_delete: true, ", "")),
    ],
    ids=["bucket", "bucket that is changed", "store"],
)  # fmt: skip
def test_another_name_for_it_is_no_way_to_take_it(
    someone: Someone, theirs: str, stream: str, subject: str, settings: str
) -> None:
    """What a topology owns is a stream, however it is called."""
    someone.applied(S + theirs)
    declared = other(someone, stored(stream, subject, settings))
    assert (declared.code, "Topology `t` owns this, as " in declared.out) == (4, True), declared
    removed = other(someone, f"streams: {{Z: {{}}}}\nremoved: [{{address: stream/{stream}, reason: unused}}]\n")
    assert (removed.code, "Topology `t` owns this, as " in removed.out) == (4, True), removed
    assert "XX104" not in removed.out, "declared and applied once it would still be theirs"
    assert stream in someone.ask(every_name)
    assert someone.has_nothing_to_do("topology.yaml")


async def every_name(js: JetStream) -> list[str]:
    return list(done(await js.request("STREAM.NAMES"))["streams"])


def test_a_group_is_its_owners_also_by_the_name_of_its_stream(someone: Someone) -> None:
    filters = "partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]"
    someone.applied(
        f"streams: {{S: {{subjects: [s.*], groups: {{g: {{type: elastic, max_members: 2, {filters}}}}}}}}}\n"
    )
    settings = (
        "retention: workqueue, discard: new, allow_direct: true, "
        'sources: [{name: S, subject_transforms: [{src: s.*, dest: "{{Partition(2,1)}}.s.{{Wildcard(1)}}"}]}]'
    )
    ran = other(someone, f"streams: {{Z: {{}}, S-g: {{{settings}}}}}\n")
    assert (ran.code, "XX101" in ran.out, "XX543" in ran.out) == (4, True, True), ran
    removed = other(someone, "streams: {Z: {}}\nremoved: [{address: stream/S-g, reason: unused}]\n")
    assert (removed.code, "as elastic_group/S/g" in removed.out) == (4, True), removed


@pytest.mark.parametrize("bucket", ["reconciler", "elastic-consumer-groups", "static-consumer-groups"])
def test_what_is_kept_for_every_topology_is_nobodys(someone: Someone, bucket: str) -> None:
    ran = other(someone, stored(f"KV_{bucket}", f"$KV.{bucket}.>", f"{BUCKET}, allow_msg_ttl: true"))
    assert (ran.code, "XX541" in ran.out, f"This is bucket {bucket}, " in " ".join(ran.out.split())) == (
        4,
        True,
        True,
    ), ran


def test_what_one_declares_as_another_kind_is_remembered_once(someone: Someone) -> None:
    someone.applied(f"streams: {{S: {{subjects: [s]}}, KV_B: {{subjects: [$KV.B.>, b], {BUCKET}}}}}\n")
    ran = someone.apply(S + "kv_buckets: {B: {}}\n")
    assert (ran.code, "< stream/KV_B" in ran.out) == (0, True), ran
    assert someone.has_nothing_to_do("topology.yaml")
    assert other(someone, "streams: {T: {}}\nkv_buckets: {B: {}}\n", "--take-over", "t").code == 0


def test_a_wrong_place_is_said_before_anything_else(someone: Someone) -> None:
    """Not who owns it, not what is too much, and nothing is written down."""
    text = f"expect: {{account: ELSEWHERE}}\n{S}removed: [{{address: stream/T, reason: r}}]\n"
    ran = other(someone, text, "--backup", "kept")
    assert (ran.code, ran.out, "expected account `ELSEWHERE`" in ran.err) == (1, "", True), ran
    assert "own" not in ran.err
    assert not (someone.shell.folder / "kept").exists()
