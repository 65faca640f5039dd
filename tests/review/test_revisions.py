"""Two revisions of real repositories, compared as a pull request would be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from reconciler.journeys.review.revisions import Reviewed, review_files
from reconciler.model.diagnostic import CannotContinue
from tests.cli.running import Shell
from tests.support.repository import Repository

TODAY = date(2026, 3, 1)


def topology(streams: str, name: str = "orders", more: str = "") -> str:
    return f"reconciler: 1\ntopology: {name}\n{more}streams: {{{streams}}}\n"


ORDERS = topology("ORDERS: {subjects: [orders.>]}")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.at(tmp_path / "repository")
    monkeypatch.chdir(made.folder)
    return made


def reviewed(base: str = "HEAD", head: str | None = None, *paths: str) -> Reviewed:
    return review_files([Path(path) for path in paths or (".",)], base, head, today=TODAY)


def told(found: Reviewed) -> dict[str, list[str]]:
    """Changes and what was said beside them, by topology."""
    return {
        one.name: [
            *(f"{change.action} {change.address}" for change in one.plan.changes),
            *(f"{said.code} {said.address}" for said in one.plan.diagnostics),
        ]
        for one in found.reviews
    }


def test_a_field_that_changes(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS})
    repository.write({"o.yaml": topology("ORDERS: {subjects: [orders.>], storage: memory}")})
    (one,) = reviewed().reviews
    (change,) = one.plan.changes
    assert [(verdict.code, str(verdict.span)) for verdict in change.verdicts] == [("ST101", "o.yaml:3:51")]
    assert one.plan.exit_code == 4


def test_only_what_changed_is_shown(repository: Repository) -> None:
    repository.commit({"a/a.yaml": ORDERS, "b.yaml": topology("B: {subjects: [b]}", "b")})
    repository.write({"b.yaml": topology("B: {subjects: [b], max_age: 1h}", "b")})
    found = reviewed()
    assert (told(found), found.unchanged) == ({"b": ["update stream/B"]}, 1)


def test_a_topology_that_is_new(repository: Repository) -> None:
    repository.commit({"README": ""})
    repository.write({"new/o.yaml": ORDERS})
    assert told(reviewed("HEAD", None, "new")) == {"orders": ["create stream/ORDERS"]}


def test_a_topology_that_is_gone_deletes_nothing(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS, "b.yaml": topology("B: {subjects: [b]}", "b")})
    repository.write({"o.yaml": None})
    assert told(reviewed()) == {"orders": ["orphan stream/ORDERS"]}


MANY = "OLD_1: {subjects: [o.1], labels: {tenant: a}}, OLD_2: {subjects: [o.2], labels: {tenant: a}}, NEW: {subjects: [new]}"
NEW = "NEW: {subjects: [new]}"


@pytest.mark.parametrize("on", ["stream/OLD_*", "tenant=a"])
def test_what_an_entry_matches_of_the_older_files_is_shown(repository: Repository, on: str) -> None:
    repository.commit({"o.yaml": topology(MANY)})
    repository.write({"o.yaml": topology(NEW, more=f"removed: [{{on: '{on}', upto: 2, reason: r}}]\n")})
    found = reviewed()
    assert told(found) == {"orders": ["delete stream/OLD_1", "delete stream/OLD_2", "RV106 None"]}
    (said,) = found.reviews[0].plan.diagnostics
    assert said.message == (
        f"`removed` deletes up to 2 objects that `{on}` matches: a review sees those that the older files declare, and the "
        "account may remember more"
    )


def test_of_an_entry_that_has_ended_a_review_says_nothing(repository: Repository) -> None:
    repository.commit({"o.yaml": topology(MANY)})
    ended = "removed: [{on: stream/OLD_*, upto: 2, reason: r, until: 2026-02-28}]\n"
    repository.write({"o.yaml": topology(NEW, more=ended)})
    assert told(reviewed()) == {"orders": ["orphan stream/OLD_1", "orphan stream/OLD_2"]}


def test_a_review_refuses_more_than_an_entry_may_match(repository: Repository) -> None:
    repository.commit({"o.yaml": topology(MANY)})
    repository.write({"o.yaml": topology(NEW, more="removed: [{on: stream/OLD_*, upto: 1, reason: r}]\n")})
    (one,) = reviewed().reviews
    assert one.plan.exit_code == 4
    assert {verdict.code for change in one.plan.changes for verdict in change.verdicts if verdict.refuses} == {"XX111"}


@pytest.mark.parametrize("on", ["stream/OLB_*", "team=orders"])
def test_an_entry_that_stood_there_before_is_not_told_again(repository: Repository, on: str) -> None:
    gone = f"removed: [{{on: '{on}', upto: 1, reason: r}}]\n"
    repository.commit({"o.yaml": topology(MANY, more=gone)})
    repository.write({"o.yaml": topology(NEW.replace("[new]", "[newer]"), more=gone)})
    assert told(reviewed()) == {"orders": ["update stream/NEW", "orphan stream/OLD_1", "orphan stream/OLD_2"]}


def test_a_file_of_many_that_is_gone(repository: Repository) -> None:
    repository.commit({"t/o.yaml": ORDERS, "t/more.yaml": "kv_buckets: {CONFIG: {}}\n"})
    repository.write({"t/more.yaml": None})
    assert told(reviewed()) == {"orders": ["orphan kv_bucket/CONFIG"]}


def test_files_that_move_change_nothing(repository: Repository) -> None:
    repository.commit({"old/o.yaml": ORDERS})
    repository.write({"old/o.yaml": None, "new/deep/other.yaml": ORDERS})
    assert told(reviewed()) == {}


MOVED = topology("ORDERS: {subjects: [orders.>], storage: memory}")
SHARED = topology("", more="description: orders\n").replace("streams: {}\n", "")


@pytest.mark.parametrize(
    ("before", "after", "path", "expected"),
    [
        ({"o.yaml": ORDERS}, {"o.yaml": None, "again.yaml": ORDERS}, "again.yaml", {}),
        ({"o.yaml": ORDERS}, {"o.yaml": None, "again.yaml": MOVED}, "again.yaml", {"orders": ["ST101"]}),
        ({"o.yaml": ORDERS}, {"o.yaml": None, "sub/o.yaml": MOVED}, "sub", {"orders": ["ST101"]}),
        ({"a/o.yaml": ORDERS}, {"a/o.yaml": None, "b/c/o.yaml": MOVED}, "b/c/o.yaml", {"orders": ["ST101"]}),
        ({"a/o.yaml": ORDERS}, {"b/o.yaml": MOVED}, "b", {"orders": []}),
        (
            {"a/o.yaml": SHARED, "a/p.yaml": ORDERS},
            {"a/p.yaml": None, "a/q.yaml": MOVED},
            "a/q.yaml",
            {"orders": ["ST101"]},
        ),
        (
            {"o.yaml": ORDERS},
            {"o.yaml": topology("B: {}", "b"), "again.yaml": MOVED},
            "again.yaml",
            {"orders": ["ST101"]},
        ),
    ],
    ids=[
        "only renamed",
        "a file",
        "into a folder",
        "deeper",
        "a copy is new",
        "one of its files",
        "its place is taken",
    ],
)
def test_what_was_moved_to_the_named_path_is_compared_with_what_it_was(
    repository: Repository,
    before: dict[str, str],
    after: dict[str, str | None],
    path: str,
    expected: dict[str, list[str]],
) -> None:
    repository.commit(before)
    repository.write(after)
    codes = {
        review.name: [verdict.code for change in review.plan.changes for verdict in change.verdicts]
        for review in reviewed("HEAD", None, path).reviews
    }
    assert codes == expected


def test_a_topology_that_is_renamed_no_longer_owns_what_is_there(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS})
    repository.write({"o.yaml": topology("ORDERS: {subjects: [orders.>]}", "sales")})
    (one,) = reviewed().reviews
    assert (one.name, one.plan.exit_code) == ("sales", 4)


def test_the_same_name_in_two_folders_is_two_accounts(repository: Repository) -> None:
    repository.commit({"dev/o.yaml": ORDERS, "prod/o.yaml": ORDERS})
    repository.write({"dev/o.yaml": topology("ORDERS: {subjects: [orders.>], max_age: 1h}")})
    found = reviewed()
    assert (told(found), found.unchanged) == ({"orders": ["update stream/ORDERS"]}, 1)


def test_a_resource_that_goes_over_to_another_topology_is_known_there(repository: Repository) -> None:
    both = {
        "a.yaml": topology("S: {subjects: [s]}, T: {subjects: [t]}", "a"),
        "b.yaml": topology("U: {subjects: [u]}", "b"),
    }
    repository.commit(both)
    repository.write({
        "a.yaml": topology("T: {subjects: [t]}", "a"),
        "b.yaml": topology("U: {subjects: [u]}, S: {subjects: [s]}", "b"),
    })  # fmt: skip
    (one, other) = reviewed().reviews
    assert [str(change.action) for change in one.plan.changes] == ["orphan"]
    assert [verdict.code for change in other.plan.changes for verdict in change.verdicts] == ["XX101"]


def test_protection_that_is_dropped(repository: Repository) -> None:
    repository.commit({"o.yaml": topology("ORDERS: {subjects: [orders.>], protect: true}")})
    repository.write({"o.yaml": ORDERS})
    assert told(reviewed()) == {"orders": ["RV101 stream/ORDERS"]}


def test_a_field_that_is_left_to_others_from_now_on(repository: Repository) -> None:
    repository.commit({"o.yaml": topology("ORDERS: {subjects: [orders.>], unmanaged: [max_bytes]}")})
    repository.write({"o.yaml": topology("ORDERS: {subjects: [orders.>], unmanaged: [max_bytes, max_age]}")})
    (found,) = reviewed().reviews
    (warning,) = found.plan.diagnostics
    assert (warning.code, warning.address, str(warning.span)) == ("RV107", "stream/ORDERS", "o.yaml:3:53")
    assert warning.message.startswith("leaves max_age to others from now on")


C = "consumers: {c: {ack_policy: explicit"
AGED = f"max_age: 1h, allow: [{{code: ST301, to: 1h, reason: fine}}], {C}}}}}"
MADE_ANEW = f"{C}, max_waiting: 9, allow: [{{code: CO106, to: 9, reason: fine, upto: {{redelivered: 5}}}}]}}}}"


@pytest.mark.parametrize("wanted", [AGED, MADE_ANEW], ids=["ST301", "CO106"])
def test_consent_to_what_only_the_account_can_count_is_taken_at_its_word(repository: Repository, wanted: str) -> None:
    repository.commit({"o.yaml": topology(f"ORDERS: {{subjects: [orders.>], {C}}}}}}}")})
    repository.write({"o.yaml": topology(f"ORDERS: {{subjects: [orders.>], {wanted}}}")})
    (one,) = reviewed().reviews
    assert (one.plan.exit_code, one.plan.diagnostics) == (0, ())


@pytest.mark.parametrize(("until", "says"), [("2026-03-01", True), ("2026-02-28", False)])
def test_what_the_files_consent_to_is_said_with_what_is_not_judged(
    repository: Repository, until: str, says: bool
) -> None:
    repository.commit({"o.yaml": ORDERS})
    allow = f"allow: [{{code: ST301, to: 1h, reason: last year, until: {until}}}]"
    repository.write({"o.yaml": topology(f"ORDERS: {{subjects: [orders.>], max_age: 1h, {allow}}}")})
    ((change,),) = (one.plan.changes for one in reviewed().reviews)
    said = [one.message for one in change.consequences]
    assert any("ST301 limit-lowered" in message for message in said)
    assert ("The files consent to ST301 to 1h: last year" in said) is says


EVERYTHING = (
    "reconciler: 1\ntopology: t\n"
    "streams: {S: {subjects: [s], sources: [{name: Q}], consumers: {c: {ack_policy: explicit, filter_subject: s}}}, Q: {}}\n"
    "kv_buckets: {B: {history: 3}}\nobject_stores: {O: {ttl: 1d}}\n"
)


@pytest.mark.parametrize(
    "after",
    [
        EVERYTHING.replace("S: {", "S: {description: x, "),
        EVERYTHING.replace("c: {", "c: {description: x, "),
        EVERYTHING.replace("history: 3", "history: 3, description: x"),
        EVERYTHING.replace("ttl: 1d", "ttl: 1d, metadata: {a: b}"),
    ],
    ids=["stream", "consumer", "kv_bucket", "object_store"],
)
def test_of_a_harmless_change_nothing_waits_for_the_account(repository: Repository, after: str) -> None:
    repository.commit({"o.yaml": EVERYTHING})
    repository.write({"o.yaml": after})
    ((change,),) = (one.plan.changes for one in reviewed().reviews)
    assert change.consequences == ()


def test_a_resource_that_is_renamed(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS})
    repository.write({"o.yaml": topology("SALES: {subjects: [orders.>]}")})
    assert told(reviewed())["orders"][-1] == "RV102 stream/SALES"


def test_a_rename_that_the_files_declare_is_no_accident(repository: Repository) -> None:
    repository.commit({"o.yaml": topology("ORDERS: {subjects: [orders.>], consumers: {old: {ack_policy: explicit}}}")})
    moved = "moved: [{from: consumer/ORDERS/old, to: consumer/ORDERS/new, reason: fine}]\n"
    new = "ORDERS: {subjects: [orders.>], consumers: {new: {ack_policy: explicit}}}"
    repository.write({"o.yaml": topology(new, more=moved)})
    assert told(reviewed()) == {"orders": ["replace consumer/ORDERS/new"]}
    repository.write({"o.yaml": topology(new)})
    found = reviewed()
    assert told(found)["orders"][-1] == "RV102 consumer/ORDERS/new"
    reasons = [change.reason for one in found.reviews for change in one.plan.changes]
    assert any("`moved: [{from: consumer/ORDERS/old, to: consumer/ORDERS/new, reason: …}]`" in one for one in reasons)


def test_a_consumer_of_another_stream_is_no_renamed_one(repository: Repository) -> None:
    two = "A: {{subjects: [a], consumers: {}}}, B: {{subjects: [b], consumers: {}}}"
    repository.commit({"o.yaml": topology(two.format("{old: {ack_wait: 1m}}", "{}"))})
    repository.write({"o.yaml": topology(two.format("{}", "{new: {ack_wait: 1m}}"))})
    assert not any("RV102" in one for one in told(reviewed())["orders"])


def test_two_revisions_are_compared_from_where_they_parted(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS, "b.yaml": topology("B: {subjects: [b]}", "b")})
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit({"o.yaml": topology("ORDERS: {subjects: [orders.>], max_age: 1h}")})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"b.yaml": topology("B: {subjects: [b, c]}", "b")})
    assert told(reviewed("main", "feature")) == {"orders": ["update stream/ORDERS"]}


def test_a_base_that_cannot_be_read_is_being_mended(repository: Repository) -> None:
    repository.commit({"t/o.yaml": ORDERS, "t/b.yaml": "streams: ["})
    repository.write({"t/b.yaml": "kv_buckets: {CONFIG: {}}"})
    assert told(reviewed())["orders"] == ["create kv_bucket/CONFIG", "create stream/ORDERS"]


def test_what_is_wrong_now_is_said_with_its_place(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS})
    repository.write({"o.yaml": topology("ORDERS: {subjectz: [orders.>]}")})
    with pytest.raises(CannotContinue) as raised:
        reviewed()
    assert [str(one.span) for one in raised.value.diagnostics] == ["o.yaml:3:20"]


def test_both_versions_are_judged(repository: Repository) -> None:
    """2.11 does not know message schedules; the newest does."""
    expect = 'expect: {min_server: "2.11"}\n'
    repository.commit({"o.yaml": topology("ORDERS: {subjects: [orders.>]}", more=expect)})
    repository.write({"o.yaml": topology("ORDERS: {subjects: [orders.>], allow_msg_schedules: true}", more=expect)})
    (one,) = reviewed().reviews
    assert [str(version) for version in one.versions] == ["2.11.0", "2.15.0"]
    assert [verdict.code for change in one.plan.changes for verdict in change.verdicts] == ["ST401"]


POLICY = "policies: [{code: ACME201, name: owned, on: stream, forbid: \"resource.labels.owner == ''\", message: an owner is missing}]\n"
OWNED = topology(
    "S: {subjects: [s], labels: {owner: a}, consumers: {c: {ack_policy: explicit}}}",
    more="policies: [{from: ../rules}]\n",
)


@pytest.mark.parametrize(
    "change",
    [
        {"topo/t.yaml": OWNED.replace("labels: {owner: a}, ", "")},
        {"topo/t.yaml": OWNED.replace("labels: {owner: a}, ", "").replace("explicit", "explicit, max_deliver: 3")},
        {"rules/r.yaml": POLICY.replace("labels.owner", "labels.team")},
    ],
    ids=["label", "label and consumer", "policy"],
)
def test_what_breaks_a_policy_is_reviewed_even_where_no_object_changes(
    repository: Repository, change: dict[str, str | None]
) -> None:
    run = Shell(repository.folder)
    repository.commit({"topo/t.yaml": OWNED, "rules/r.yaml": POLICY})
    assert run("review", "--base", "main", "topo").out.startswith("No object changes below topo since ")
    repository.write(change)
    ran = run("review", "--base", "main", "topo")
    assert (ran.code, "ACME201" in ran.out, "stream/S" in ran.out) == (4, True, True), ran


UNOWNED = OWNED.replace("labels: {owner: a}, ", "")
FORBIDS = "as it was, it forbids stream/S of orders"


@pytest.mark.parametrize(
    ("rules", "files", "said"),
    [
        (POLICY.replace("owned", "named").replace("201", "202").replace("owner ==", "team =="), UNOWNED,
         f"topo/t.yaml:3:11 policy ACME201 owned is gone; {FORBIDS}"),
        (POLICY.replace("''", "'nobody'"), UNOWNED,
         "rules/r.yaml:1:61 policy ACME201 has another condition: `resource.labels.owner == ''` became "
         f"`resource.labels.owner == 'nobody'`; {FORBIDS}"),
        (POLICY.replace("an owner is missing", "an owner is missing, severity: warning"), UNOWNED,
         f"rules/r.yaml:1:132 policy ACME201 only warns from now on; {FORBIDS}"),
        (POLICY.replace("on: stream", "on: kv_bucket"), UNOWNED,
         f"rules/r.yaml:1:45 policy ACME201 is about kv_bucket alone, and until now about stream; {FORBIDS}"),
        (POLICY.replace("''", "'nobody'"), OWNED,
         "rules/r.yaml:1:61 policy ACME201 has another condition: `resource.labels.owner == ''` became "
         "`resource.labels.owner == 'nobody'`; as it was, it forbids nothing here"),
        (POLICY.replace("201", "202"), OWNED, None),
        (POLICY.replace("forbid", "severity: error, forbid"), OWNED, None),
        (POLICY.replace("''", "'nobody'"),
         OWNED.replace("owner: a}", "owner: ''}, allow: [{code: ACME201, reason: r, until: 2999-12-31}]"),
         "rules/r.yaml:1:61 policy ACME201 has another condition: `resource.labels.owner == ''` became "
         "`resource.labels.owner == 'nobody'`; as it was, it forbids nothing here"),
    ],
    ids=["gone", "condition", "severity", "kinds", "without effect", "code alone", "as before", "waived"],
)  # fmt: skip
def test_a_policy_that_is_weakened_is_told_with_what_it_forbade(
    repository: Repository, rules: str, files: str, said: str | None
) -> None:
    repository.commit({"topo/t.yaml": OWNED, "rules/r.yaml": POLICY})
    repository.write({"topo/t.yaml": files, "rules/r.yaml": rules})
    found = reviewed("HEAD", None, "topo")
    assert [f"{told.span} {told.message}" for told in found.diagnostics if told.code == "RV108"] == (
        [said] if said else []
    )


def test_a_policy_that_many_topologies_share_is_told_once(repository: Repository) -> None:
    shared = {f"{name}/t.yaml": OWNED.replace("orders", name).replace("{owner: a}", "{}") for name in ("a", "b")}
    waived = "{owner: b}, allow: [{code: ACME201, reason: r, until: 2999-12-31}]"
    repository.commit(
        {
            **{path: text.replace("labels: {}", f"labels: {waived}") for path, text in shared.items()},
            "rules/r.yaml": POLICY,
        }
    )
    repository.write({**shared, "rules/r.yaml": POLICY.replace("''", "'nobody'")})
    (said,) = (told for told in reviewed("HEAD", None, "a", "b").diagnostics if told.code == "RV108")
    assert said.message.endswith("as it was, it forbids stream/S of a and stream/S of b")


def test_what_several_topologies_include_is_reviewed_for_each(repository: Repository) -> None:
    files = {
        f"{name}.yaml": topology(f"{name.upper()}: {{subjects: [{name}]}}", name, "include: more/both.yaml\n")
        for name in "ab"
    }
    repository.commit(
        {
            **files,
            "more/both.yaml": "include: deep.yaml\n",
            "more/deep.yaml": "kv_buckets: {CONFIG: {history: 2}}\n",
        }
    )
    assert reviewed().reviews == ()
    repository.write({"more/deep.yaml": "kv_buckets: {CONFIG: {history: 5}}\n"})
    assert told(reviewed()) == {"a": ["update kv_bucket/CONFIG"], "b": ["update kv_bucket/CONFIG"]}


def test_a_folder_whose_last_file_is_gone_is_no_error(repository: Repository) -> None:
    repository.commit({"t/o.yaml": ORDERS})
    repository.write({"t/o.yaml": None})
    ran = Shell(repository.folder)("review", "--base", "main", "t")
    assert (ran.code, "XX520" in ran.out + ran.err, "orphan" in ran.out) == (0, False, True), ran


def test_as_a_command(repository: Repository) -> None:
    run = Shell(repository.folder)
    repository.commit({"a.yaml": ORDERS, "b.yaml": topology("B: {subjects: [b]}", "b")})
    same = run("review", "--base", "main", "--report", "markdown=r.md")
    assert same.out.startswith("No object changes below . since ")
    text = (repository.folder / "r.md").read_text()
    assert text.startswith("<!-- reconciler:review -->\n### Review: nothing to review\n\n**No object changes below")
    repository.write({"a.yaml": topology("ORDERS: {subjects: [orders.>], max_age: 1h}")})
    assert (run("review", "--base", "main").code, run("review", "--base", "main", "--exit-code").code) == (0, 2)
    repository.write({"b.yaml": topology("B: {subjects: [b], retention: workqueue}", "b")})
    ran = run("review", "--base", "main", ".", "--report", "markdown=r.md", "--report", "sarif=r.sarif",
              "--report", "junit=r.xml", "--report", "json=r.json", "--report", "github=r.txt")  # fmt: skip
    assert (ran.code, ran.err) == (4, "")
    assert "ST102" in ran.out
    assert (repository.folder / "r.md").read_text().startswith("<!-- reconciler:review -->\n### Review: b since ")


def test_a_file_of_a_fork_is_one_word_of_the_command_to_copy(repository: Repository) -> None:
    file = "streams;touch PWNED #\n/a.yaml"
    repository.commit({file: ORDERS})
    repository.write({file: topology("ORDERS: {subjects: [orders.>], max_age: 1h}")})
    ran = Shell(repository.folder)("review", "--base", "main", COLUMNS="300")
    assert "With the account: reconciler plan 'streams;touch PWNED #\\n'\n" in ran.out


def test_yaml_of_others_is_nobodys_business(repository: Repository) -> None:
    charts = "kind: A\n---\nkind: {{ .Values.topology }}\n"
    repository.commit({"streams/o.yaml": ORDERS, "charts/templates/a.yaml": charts, "x.yaml": "x: !Ref y\n"})
    repository.write(
        {"streams/o.yaml": topology("ORDERS: {subjects: [orders.>], max_age: 1h}"), "charts/templates/b.yaml": charts}
    )
    assert told(reviewed()) == {"orders": ["update stream/ORDERS"]}


@pytest.mark.parametrize("text", ["\0\0", "%PDF", "reconciler: 1\ntopology: orders\nstreams: ["])
def test_a_topology_that_is_spoilt_is_not_called_gone(repository: Repository, text: str) -> None:
    repository.commit({"o.yaml": ORDERS, "b.yaml": topology("B: {subjects: [b]}", "b")})
    repository.write({"o.yaml": text})
    with pytest.raises(CannotContinue) as raised:
        reviewed()
    assert {one.span.file for one in raised.value.diagnostics if one.span} == {"o.yaml"}


def test_what_was_wrong_before_and_is_not_touched_keeps_nobody_from_reviewing(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS, "b.yaml": topology("B: {subjectz: [b]}", "b")})
    repository.write({"o.yaml": topology("ORDERS: {subjects: [orders.>], max_age: 1h}")})
    found = reviewed()
    assert (told(found), found.unchanged) == ({"orders": ["update stream/ORDERS"]}, 1)


def test_where_there_is_no_topology_nothing_is_called_unchanged(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS, "other/x.yaml": "kind: A\n"})
    with pytest.raises(CannotContinue, match="names a topology"):
        reviewed("HEAD", None, "other")


def test_files_of_another_repository_are_not_called_new(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"o.yaml": ORDERS})
    (tmp_path / "b.yaml").write_text(ORDERS)
    with pytest.raises(CannotContinue, match="outside the repository"):
        reviewed("HEAD", None, "o.yaml", str(tmp_path / "b.yaml"))


LONGER = topology("I: {subjects: [i], max_age: 30d}", "inner")
SHORTER = topology("I: {subjects: [i], max_age: 1d}", "inner")


@pytest.fixture
def submodule(repository: Repository) -> Repository:
    """One whose pointer the branch `pr`, which is checked out, moves to the tip of the submodule's own `main`."""
    inner = Repository.at(repository.folder / "inner")
    inner.commit({"i.yaml": LONGER})
    repository.commit({"o.yaml": ORDERS})
    repository.git("checkout", "--quiet", "-b", "pr")
    inner.commit({"i.yaml": SHORTER})
    repository.commit({})
    return inner


@pytest.mark.parametrize("head", [None, "pr"])
@pytest.mark.parametrize("path", [".", "inner", "inner/i.yaml"])
def test_a_pointer_of_a_submodule_that_moves_is_reviewed(submodule: Repository, head: str | None, path: str) -> None:
    found = reviewed("main", head, path)
    assert (told(found), found.diagnostics) == ({"inner": ["update stream/I"]}, ())


@pytest.mark.parametrize("head", [None, "pr"])
def test_a_pointer_of_a_submodule_that_moves_back_is_reviewed(
    repository: Repository, submodule: Repository, head: str | None
) -> None:
    repository.git("checkout", "--quiet", "-B", "main")
    repository.git("checkout", "--quiet", "-B", "pr")
    submodule.git("checkout", "--quiet", "HEAD~1")
    repository.commit({})
    assert told(reviewed("main", head)) == {"inner": ["update stream/I"]}


def test_a_submodule_of_a_submodule_is_reviewed(repository: Repository, submodule: Repository) -> None:
    deep = Repository.at(submodule.folder / "deep")
    deep.commit({"d.yaml": topology("D: {subjects: [d]}", "deep")})
    submodule.commit({})
    before = repository.commit({})
    deep.commit({"d.yaml": topology("D: {subjects: [d], max_age: 1h}", "deep")})
    submodule.commit({})
    repository.commit({})
    assert told(reviewed(before, "pr")) == {"deep": ["update stream/D"]}
    deep.git("checkout", "--quiet", "HEAD~1")
    (warning,) = reviewed(before).diagnostics
    assert warning.fix == "git -C inner submodule update deep"


def test_within_a_submodule_revisions_are_its_own(submodule: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(submodule.folder)
    assert (told(reviewed("main")), told(reviewed("main~1"))) == ({}, {"inner": ["update stream/I"]})
    for base in ("main", "main~1"):
        commit = submodule.git("rev-parse", "--short=12", base)
        assert f"since {commit} of submodule inner" in " ".join(
            Shell(submodule.folder)("review", "--base", base).out.split()
        )
    assert " of submodule " not in Shell(submodule.folder.parent)("review", "--base", "main", "inner").out


def _keep_nothing(submodule: Repository) -> None:
    submodule.folder.rename(submodule.folder.parent.parent / "whole")
    submodule.folder.mkdir()


def _keep_only_the_newest(submodule: Repository) -> None:
    _keep_nothing(submodule)
    submodule.git("clone", "--quiet", "--depth", "1", f"file://{submodule.folder.parent.parent / 'whole'}", ".")


@pytest.mark.parametrize("head", [None, "pr"])
@pytest.mark.parametrize("lose", [_keep_only_the_newest, _keep_nothing])
def test_of_a_submodule_without_its_commits_a_review_says_that_it_is_not_compared(
    repository: Repository, submodule: Repository, head: str | None, lose: Callable[[Repository], None]
) -> None:
    before = submodule.git("rev-parse", "HEAD~1")
    lose(submodule)
    found = reviewed("main", head)
    assert (told(found), found.unchanged) == ({}, 1)
    (warning,) = found.diagnostics
    assert (warning.code, warning.message) == (
        "XX540", f"nothing is compared of the submodule inner, which lacks commit {before} here"
    )  # fmt: skip
    assert f"git -C inner fetch origin {before}" in (warning.fix or "")
    with pytest.raises(CannotContinue, match="lies in the submodule inner, which lacks commit"):
        reviewed("main", head, "inner")


@pytest.mark.parametrize("head", [None, "pr"])
def test_a_topology_that_lies_partly_in_such_a_submodule_is_not_compared(
    repository: Repository, submodule: Repository, head: str | None
) -> None:
    submodule.commit({"i.yaml": "streams: {I: {subjects: [i]}}\n"})
    repository.commit({})
    submodule.commit({"i.yaml": "streams: {I: {subjects: [i], max_age: 1d}}\n"})
    base = repository.commit({"o.yaml": None, "o/o.yaml": ORDERS, "a.yaml": topology("P: {subjects: [p]}", "p")})
    submodule.commit({"i.yaml": "streams: {I: {subjects: [i], max_age: 2d}}\n"})
    repository.commit({})
    assert told(reviewed(base, head)) == {"p": ["update stream/I"]}
    _keep_only_the_newest(submodule)
    found = reviewed(base, head)
    assert (told(found), found.unchanged, [warning.code for warning in found.diagnostics]) == ({}, 1, ["XX540"])


def test_a_pointer_that_does_not_move_needs_no_files_of_the_submodule(
    repository: Repository, submodule: Repository
) -> None:
    _keep_nothing(submodule)
    assert reviewed("pr", "pr").diagnostics == reviewed("main", "pr", "o.yaml").diagnostics == ()


def test_a_repository_of_nothing_but_a_submodule_without_its_commits_is_refused(
    repository: Repository, submodule: Repository
) -> None:
    repository.commit({"o.yaml": None})
    base = repository.git("rev-parse", "HEAD")
    submodule.commit({"i.yaml": LONGER})
    repository.commit({})
    _keep_nothing(submodule)
    for head in (None, "pr"):
        with pytest.raises(CannotContinue, match="nothing is compared of the submodule inner"):
            reviewed(base, head)


@pytest.mark.parametrize("path", [".", "inner"])
def test_a_working_tree_of_a_submodule_that_did_not_follow_its_pointer_is_told(
    submodule: Repository, path: str
) -> None:
    submodule.git("checkout", "--quiet", "HEAD~1")
    found = reviewed("main", None, path)
    seen, named = submodule.git("rev-parse", "HEAD"), submodule.git("rev-parse", "main")
    assert told(found) == {}
    assert [(warning.code, warning.message, warning.fix) for warning in found.diagnostics] == [(
        "XX540",
        f"the submodule inner is compared at commit {seen}, which is checked out; HEAD names {named}",
        "git submodule update inner",
    )]  # fmt: skip
    assert told(reviewed("main", "pr", path)) == {"inner": ["update stream/I"]}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--base", "nowhere"), "git knows no revision `nowhere`"),
        (("--base", "HEAD", "no/such/path"), "`no/such/path` does not exist"),
    ],
    ids=["revision", "path"],
)
def test_what_cannot_be_compared(repository: Repository, arguments: tuple[str, ...], why: str) -> None:
    repository.commit({"o.yaml": ORDERS})
    ran = Shell(repository.folder)("review", *arguments)
    assert (ran.code, ran.out, why in ran.err) == (1, "", True), ran
    assert ran.err.count("\n") <= 3


def test_a_new_entry_that_names_nothing_is_told_from_one_that_was_there_before(repository: Repository) -> None:
    gone = "removed: [{address: stream/ORDERS_OLD, reason: r}]\n"
    both = "A: {subjects: [a]}, ORDERS_ODL: {subjects: [b]}"
    repository.commit(
        {"before.yaml": topology(both, "before", gone), "new.yaml": topology(both.replace("ORDERS", "BILLS"), "new")}
    )
    repository.write({
        "before.yaml": topology("A: {subjects: [a]}", "before", gone),
        "new.yaml": topology("A: {subjects: [a]}", "new", gone.replace("ORDERS", "BILLS")),
    })  # fmt: skip
    assert told(reviewed()) == {
        "before": ["orphan stream/ORDERS_ODL"],
        "new": ["orphan stream/BILLS_ODL", "XX916 stream/BILLS_OLD"],
    }


def test_a_value_is_used_where_either_revision_of_any_topology_mentions_it(repository: Repository) -> None:
    filled = topology("ORDERS: {subjects: ['${region}.orders']}") + "parameters: {region: {}}\n"
    repository.commit({"a/a.yaml": filled, "b.yaml": topology("B: {subjects: [b]}", "b")})
    repository.write({"b.yaml": topology("B: {subjects: [b], max_age: 1h}", "b")})
    found = review_files([Path()], "HEAD", None, today=TODAY, values={"region": "eu"})
    assert told(found) == {"b": ["update stream/B"]}
    with pytest.raises(CannotContinue) as raised:
        review_files([Path()], "HEAD", None, today=TODAY, values={"region": "eu", "regoin": "us"})
    assert [one.message for one in raised.value.diagnostics] == [
        "value `regoin` is given, but there is no parameter `regoin`; did you mean `region`?"
    ]


@pytest.mark.parametrize(
    ("others", "given", "named"),
    [
        ({}, "streams", "streams"),
        ({"streams/b.yaml": "b"}, "streams", "streams/a.yaml streams/more.yaml"),
        ({"others/b.yaml": "b"}, ".", "streams"),
    ],
)
def test_the_next_command_names_the_folder_where_it_holds_this_topology_alone(
    repository: Repository, others: dict[str, str], given: str, named: str
) -> None:
    more = {file: topology(f"{name}: {{}}", name) for file, name in others.items()}
    repository.commit({"streams/a.yaml": ORDERS, "streams/more.yaml": topology("MORE: {}"), **more})
    repository.write({"streams/a.yaml": topology("ORDERS: {subjects: [orders.>], max_age: 1h}")})
    ran = Shell(repository.folder)("review", "--base", "main", given, COLUMNS="300")
    assert f"With the account: reconciler plan {named}\n" in ran.out, ran.out
