"""`plan --revision OLD`: the files as they were then, against what is live, and what no going back brings back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.going_back import lasting_losses
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import publish, pull
from tests.e2e.here import somebody
from tests.e2e.someone import HEADER, Someone
from tests.support.accounts import Account
from tests.support.jetstream import done
from tests.support.repository import Repository
from tests.support.topologies import scene
from tests.support.versions import on_every_version

OLD = (
    "streams:\n  A: {subjects: [a, b], max_age: 7d, consumers: {c: {ack_policy: explicit}}}\n  GONE: {subjects: [g]}\n"
)
NEW = "streams:\n  A: {subjects: [a], max_age: 3d, deny_delete: true}\nremoved:\n"
NEW += "".join(f"  - {{address: {one}, reason: unused}}\n" for one in ("stream/GONE", "consumer/A/c"))


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """Whose repository says NEW, said OLD one commit before, and whose account is as NEW says."""
    Repository.at(tmp_path / "here")
    someone = somebody(tmp_path / "here", account, monkeypatch)
    committed(someone, {"streams/a.yaml": HEADER + OLD})
    assert someone("apply", "streams", "--yes").code == 0
    committed(someone, {"streams/a.yaml": HEADER + NEW})
    ran = someone("apply", "streams", "--yes", "--allow", "ST206=stream/A")
    assert ran.code == 0, ran.out
    return someone


def committed(someone: Someone, files: dict[str, str | None]) -> str:
    return Repository(someone.shell.folder).commit(files)


def planned(someone: Someone, *arguments: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(someone("plan", *arguments, "--format", "json").out)
    return data


def said(plan: dict[str, Any]) -> dict[str, str]:
    return {f"{one['code']} {one['address']}": one["message"] for one in plan["diagnostics"]}


def test_it_says_what_going_back_does_not_bring_back(someone: Someone) -> None:
    plan = planned(someone, "streams", "--revision", "HEAD~1")
    assert plan["summary"]["create"] == 2
    assert set(said(plan)) >= {"GB101 stream/A", "GB102 stream/GONE", "GB102 consumer/A/c"}


def test_what_a_rule_refuses_to_undo_is_named_once_for_all(tmp_path: Path) -> None:
    def streams(policy: str) -> str:
        consumer = f"{{consumers: {{c: {{priority_policy: {policy}, priority_groups: [g]}}}}}}"
        return f"streams: {{A: {consumer}, B: {consumer}, C: {consumer}}}"

    (found,) = lasting_losses(scene(tmp_path, streams("overflow"), streams("prioritized")).plan())
    assert (found.code, found.address) == ("GB101", "consumer/A/c")
    assert (
        found.message == "cannot be undone, nor can consumer/B/c, consumer/C/c: CO121 priority-policy-switch refuses it"
    )


def test_a_copy_that_is_recreated_copies_again_and_is_restored_before_the_apply_or_never(someone: Someone) -> None:
    copies = "streams: {A: {subjects: [a]}, M: {mirror: {name: A}}, ALL: {sources: [{name: A}]}}\n"
    committed(someone, {"streams/a.yaml": HEADER + copies})
    committed(someone, {"streams/a.yaml": HEADER + "streams: {A: {subjects: [a]}}\n"})
    found = said(planned(someone, "streams", "--revision", "HEAD~1"))
    assert found["GB102 stream/M"].startswith("is recreated and copies what its origin still holds")
    assert found["GB102 stream/ALL"].startswith("is recreated and copies what its sources still hold")


def test_wider_limits_and_subjects_do_not_bring_messages_back(someone: Someone) -> None:
    committed(someone, {"streams/a.yaml": HEADER + NEW.replace("[a]", "[a, b]").replace("3d", "7d")})
    committed(someone, {"streams/a.yaml": HEADER + NEW})
    messages = [one["message"] for one in planned(someone, "streams", "--revision", "HEAD~1")["diagnostics"]]
    assert (
        "max_age gets its wider limit back, but anything that the narrower limit removed does not come back" in messages
    )
    assert "messages published to b in the meantime were not stored here, and do not come back" in messages


WAS = """
streams:
  ALL: {subjects: [all.a, all.b, other.>], max_msgs: 9}
  EACH: {subjects: [each], retention: interest}
  ONCE: {subjects: [once]}
"""
CAME = """
streams:
  ALL: {subjects: ["all.>", other.a], max_msgs: 5}
  EACH: {subjects: [each]}
  ONCE: {subjects: [once], retention: interest}
"""


def test_only_what_was_not_stored_or_was_removed_in_the_meantime_is_called_lost(someone: Someone) -> None:
    """Wider subjects took in what the earlier ones name, and limits alone delete nothing that was processed."""
    for text in (WAS, CAME):
        committed(someone, {"b.yaml": HEADER + text})
        assert someone("apply", "b.yaml", "--yes").code == 0
    found = planned(someone, "b.yaml", "--revision", "HEAD~1")["diagnostics"]
    assert [(one["address"], one["message"]) for one in found if one["code"] == "GB103"] == [
        ("stream/ALL", "max_msgs gets its wider limit back, but anything that the narrower limit removed or refused does not come back"),
        ("stream/ALL", "messages published to other.> outside other.a in the meantime were not stored here, and do not come back"),
        ("stream/ONCE", "the messages that interest retention removed do not come back"),
    ]  # fmt: skip


def test_the_work_tree_stays_as_it_is(someone: Someone) -> None:
    someone.shell.write("unsaved: edits", "streams/a.yaml")
    assert planned(someone, "streams", "--revision", "HEAD~1")["summary"]["create"] == 2
    assert (someone.shell.folder / "streams/a.yaml").read_text() == "unsaved: edits"


def test_a_saved_plan_goes_back_and_history_says_to_which_revision(someone: Someone) -> None:
    back = committed(someone, {"streams/a.yaml": HEADER + NEW.replace("3d", "7d")})
    committed(someone, {"streams/a.yaml": HEADER + NEW})
    ran = someone("plan", "streams", "--revision", "HEAD~1", "--out", "plan.json")
    assert ran.code == 0, ran.out
    assert someone("apply", "plan.json", "--yes").code == 0
    assert done(someone.ask(lambda js: js.read("STREAM.INFO.A")))["config"]["max_age"] == 7 * 86_400_000_000_000
    assert back[:12] in someone("history").out


def test_what_is_to_be_typed_next_goes_back_too(someone: Someone) -> None:
    committed(someone, {"streams/a.yaml": HEADER + NEW.replace("3d", "7d")})
    committed(someone, {"streams/a.yaml": HEADER + NEW})
    ran = someone("plan", "streams", "--revision", "HEAD~1")
    assert f"Next: reconciler apply --revision 'HEAD~1' streams --server {someone.login[1]}" in ran.out
    assert someone("apply", "--revision", "HEAD~1", "streams", "--yes").code == 0


def test_a_file_that_revision_did_not_have(someone: Someone) -> None:
    someone.shell.write(HEADER, "new.yaml")
    ran = someone("plan", "new.yaml", "--revision", "HEAD~1")
    assert (ran.code, "`new.yaml` exists now, but does not exist in revision HEAD~1" in ran.err + ran.out) == (1, True)


def test_a_folder_that_is_gone_by_now_is_found(someone: Someone) -> None:
    committed(someone, {"streams/a.yaml": None, "elsewhere/a.yaml": HEADER + NEW})
    assert planned(someone, "streams", "--revision", "HEAD~1")["topology"] == "t"


def test_a_revision_nobody_knows(someone: Someone) -> None:
    ran = someone("plan", "streams", "--revision", "v99")
    assert (ran.code, "git knows no revision `v99`" in ran.err) == (1, True), ran


def test_a_saved_plan_has_its_revision_already(someone: Someone) -> None:
    assert someone("plan", "streams", "--out", "plan.json").code == 0
    assert someone("apply", "plan.json", "--revision", "HEAD~1", "--yes").code == 64


HAD = """
streams: {A: {subjects: [a], max_age: 3d, deny_delete: true, consumers: {%s: {ack_policy: explicit}}}}
kv_buckets: {B: {history: %d}}
"""
RENAMED = "moved: [{from: consumer/A/was, to: consumer/A/is, reason: shorter}]\n"


def test_a_consumer_that_goes_on_by_another_name_and_history_that_is_gone(someone: Someone) -> None:
    for text in (HAD % ("was", 3), HAD % ("is", 1) + RENAMED):
        committed(someone, {"streams/a.yaml": HEADER + text})
        assert someone("apply", "streams", "--yes").code == 0
    found = {
        f"{one['code']} {one['address']}": one
        for one in planned(someone, "streams", "--revision", "HEAD~1")["diagnostics"]
    }
    assert "moved: [{from: consumer/A/is, to: consumer/A/was, reason: …}]" in found["GB102 consumer/A/was"]["fix"]
    assert found["GB103 kv_bucket/B"]["message"].startswith("history gets its wider limit back")


TWO = """
streams:
  REN:
    subjects: [ren.>]
    consumers:
      %s: {ack_policy: explicit, max_deliver: 5}
      %s: {ack_policy: explicit, headers_only: true}
"""
TO_NEW_NAMES = """
moved:
  - {from: consumer/REN/alpha, to: consumer/REN/gamma, reason: clearer}
  - {from: consumer/REN/beta, to: consumer/REN/delta, reason: clearer}
"""


def rename_back(plan: dict[str, Any], name: str) -> str:
    """The consumer that GB102 offers to rename back to `name`; empty: none."""
    (found,) = (one for one in plan["diagnostics"] if f"{one['code']} {one['address']}" == f"GB102 consumer/REN/{name}")
    return str(found.get("fix", "")).partition("moved: [{from: consumer/REN/")[2].partition(",")[0]


async def published_and_processed_by_one(js: JetStream) -> None:
    await publish(js, *["ren.a"] * 50)
    for _ in range(50):
        message = await pull(js.pipeline.nc, "REN", "delta")
        assert message is not None
        await message.ack_sync()


def apply_one_after_the_other(someone: Someone, *texts: str) -> None:
    for text in texts:
        committed(someone, {"r.yaml": HEADER + text})
        ran = someone("apply", "r.yaml", "--yes")
        assert ran.code == 0, ran


@on_every_version
def test_each_consumer_is_offered_the_one_that_it_became(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another pair of names skips what nobody has processed: a consumer continues at the position of the one it is named after."""
    Repository.at(tmp_path / "here")
    someone = somebody(tmp_path / "here", account, monkeypatch)
    apply_one_after_the_other(someone, TWO % ("alpha", "beta"), TWO % ("gamma", "delta") + TO_NEW_NAMES)
    someone.ask(published_and_processed_by_one)
    plan = planned(someone, "r.yaml", "--revision", "HEAD~1")
    assert {name: rename_back(plan, name) for name in ("alpha", "beta")} == {"alpha": "gamma", "beta": "delta"}


def test_names_are_known_over_several_renames_also_if_the_configuration_changed_since(someone: Someone) -> None:
    def renamed(before: str, after: str) -> str:
        return f"moved: [{{from: consumer/REN/{before}, to: consumer/REN/{after}, reason: clearer}}]\n"

    changed = TWO.replace("max_deliver: 5", "max_deliver: 7")
    apply_one_after_the_other(
        someone, TWO % ("alpha", "beta"), TWO % ("gamma", "beta") + renamed("alpha", "gamma"),
        TWO % ("omega", "beta") + renamed("gamma", "omega"), changed % ("omega", "beta"),
    )  # fmt: skip
    assert rename_back(planned(someone, "r.yaml", "--revision", "HEAD~3"), "alpha") == "omega"
    assert rename_back(planned(someone, "r.yaml", "--revision", "HEAD~2"), "gamma") == "omega"


def test_a_new_consumer_that_has_nothing_to_do_with_the_old_one_is_not_offered(someone: Someone) -> None:
    one = "streams: {REN: {subjects: [ren.>], consumers: {%s}}}\n"
    gone = "removed: [{address: consumer/REN/alpha, reason: unused}]\n"
    apply_one_after_the_other(
        someone, one % "alpha: {filter_subject: ren.a}", one % "other: {filter_subject: ren.b}" + gone
    )
    assert rename_back(planned(someone, "r.yaml", "--revision", "HEAD~1"), "alpha") == ""
