"""The three places where people meet the tool, as their pipelines go: review, apply after the merge, drift at night."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from reconciler.server.wire.api import JetStream
from tests.ci.github import Comments, api
from tests.ci.runner import ROOT, Runner, loaded
from tests.support.jetstream import done, talk
from tests.support.jwt import Operator
from tests.support.repository import Repository
from tests.support.servers import NatsServer

WORKFLOWS = ROOT / "examples" / "ci" / "github"
TOPOLOGY = "reconciler: 1\ntopology: orders\nstreams:\n  ORDERS:\n    subjects: [orders.>]\n    max_age: 7d\n"
HEAD = "4242"


class Place:
    """Whoever manages the server by hand."""

    def __init__(self, server: NatsServer, creds: Path) -> None:
        self.url, self.creds = server.url, creds

    async def connect(self) -> Client:
        return await nats.connect(self.url, user_credentials=str(self.creds))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.at(tmp_path / "repository")
    made.commit({"streams/orders.yaml": TOPOLOGY})
    made.git("update-ref", "refs/remotes/origin/main", "main")
    made.git("checkout", "--quiet", "-b", "change")
    return made


@pytest.fixture
def comments() -> Iterator[Comments]:
    with api() as found:
        yield found


@pytest.fixture
def runner(repository: Repository, comments: Comments, tmp_path: Path) -> Runner:
    known = {
        "github.base_ref": "main", "github.event.pull_request.number": "7", "github.token": "token-of-the-job",
        "github.event.workflow_run.id": "1", "github.event.workflow_run.head_sha": HEAD,
        "runner.temp": str(tmp_path / "temp"),
    }  # fmt: skip
    return Runner(repository.folder, tmp_path / "temp", known, {"GITHUB_API_URL": comments.url, "COLUMNS": "100"})


@pytest.fixture
def server(runner: Runner) -> Iterator[tuple[NatsServer, Place]]:
    operator = Operator()
    with NatsServer(config=operator.config) as running:
        creds = runner.temp / "by-hand.creds"
        creds.write_text(operator.creds())
        runner.known |= {"secrets.NATS_CREDENTIALS": operator.creds(), "vars.NATS_URL": running.url}
        yield running, Place(running, creds)


def gh(runner: Runner, answers: str) -> Path:
    """Stands for GitHub's own command line: says what the case wants, and keeps what it was asked."""
    log = runner.temp / "gh.log"
    runner.script(runner.temp / "bin" / "gh", f'printf "%s\\n" "$*" >>"{log}"\ncase "$*" in\n{answers}\nesac')
    return log


REVIEWED = f"*pulls/7*) echo {HEAD} ;;"


def test_a_pull_request_is_reviewed_and_keeps_one_comment(
    repository: Repository, runner: Runner, comments: Comments
) -> None:
    gh(runner, REVIEWED)
    comments.add(7, "<!-- reconciler:review -->\nquoted by somebody", kind="User")
    repository.commit({"streams/orders.yaml": TOPOLOGY.replace("7d", "3d") + "    storage: memory\n"})
    assert (runner.job(WORKFLOWS / "review.yml"), runner.job(WORKFLOWS / "comment.yml")) == (0, 0)
    assert "::error file=streams/orders.yaml,line=7,col=14," in runner.said
    assert "ST101" in comments.bodies(7)[1]
    assert comments.bodies(7)[1] == runner.summary

    repository.commit({"streams/orders.yaml": TOPOLOGY.replace("7d", "3d")})
    assert (runner.job(WORKFLOWS / "review.yml"), runner.job(WORKFLOWS / "comment.yml")) == (0, 0)
    theirs, ours = comments.bodies(7)
    assert theirs.endswith("quoted by somebody")
    assert "ST101" not in ours
    assert "max_age" in ours


def test_files_that_are_wrong_fail_the_review_and_say_where(
    repository: Repository, runner: Runner, comments: Comments
) -> None:
    """The comment of before would say that all is well."""
    gh(runner, REVIEWED)
    repository.commit({"streams/orders.yaml": TOPOLOGY.replace("7d", "3d")})
    assert (runner.job(WORKFLOWS / "review.yml"), runner.job(WORKFLOWS / "comment.yml")) == (0, 0)
    repository.commit({"streams/orders.yaml": TOPOLOGY.replace("subjects", "subjectz")})
    assert (runner.job(WORKFLOWS / "review.yml"), runner.job(WORKFLOWS / "comment.yml")) == (1, 0)
    assert "::error file=streams/orders.yaml,line=5,col=5," in runner.said
    (only,) = comments.bodies(7)
    assert "did you mean `subjects`?" in only


def test_a_comment_never_goes_to_another_pull_request(
    repository: Repository, runner: Runner, comments: Comments
) -> None:
    gh(runner, "*pulls/7*) echo somebody-elses ;;")
    repository.commit({"streams/orders.yaml": TOPOLOGY.replace("7d", "3d")})
    assert (runner.job(WORKFLOWS / "review.yml"), runner.job(WORKFLOWS / "comment.yml")) == (0, 1)
    assert comments.bodies(7) == []


def test_what_was_reviewed_is_what_is_applied_after_the_merge(
    repository: Repository, runner: Runner, comments: Comments, server: tuple[NatsServer, Place]
) -> None:
    gh(runner, "*commits*) echo abc ;;\n*actions/workflows*) echo 99 ;;")
    assert runner.job(WORKFLOWS / "plan.yml") == 0
    assert "stream/ORDERS" in comments.bodies(7)[0]
    repository.commit({"streams/orders.yaml": "what stands in the files now does not count"})
    assert runner.job(WORKFLOWS / "apply.yml") == 0
    config = talk(server[1], _config)
    assert config["max_age"] == 7 * 24 * 3600 * 10**9
    assert runner.job(WORKFLOWS / "apply.yml") == 0
    secrets = [line for line in runner.known["secrets.NATS_CREDENTIALS"].splitlines() if line.startswith(("SU", "ey"))]
    assert [secret[:2] for secret in secrets if secret not in runner.said] == ["ey", "SU"]


def test_without_a_reviewed_plan_nothing_is_applied(runner: Runner, server: tuple[NatsServer, Place]) -> None:
    gh(runner, "*commits*) echo abc ;;\n*actions/workflows*) echo null ;;")
    assert runner.job(WORKFLOWS / "apply.yml") == 1
    assert "::error::no reviewed plan belongs to" in runner.said


def test_drift_is_one_issue_until_it_is_over(
    repository: Repository, runner: Runner, server: tuple[NatsServer, Place]
) -> None:
    gh(runner, "*commits*) echo abc ;;\n*actions/workflows*) echo 99 ;;")
    assert (runner.job(WORKFLOWS / "plan.yml"), runner.job(WORKFLOWS / "apply.yml")) == (0, 0)
    log = gh(runner, '"issue list"*) ;;')
    assert runner.job(WORKFLOWS / "drift.yml") == 0

    talk(server[1], lambda js: _change(js, max_age=3600 * 10**9))
    assert runner.job(WORKFLOWS / "drift.yml") == 3
    assert "issue create" in log.read_text()
    assert "max_age" in Path(runner.known["steps.drift.outputs.markdown"]).read_text()

    log = gh(runner, '"issue list"*) echo 12 ;;')
    assert runner.job(WORKFLOWS / "drift.yml") == 3
    assert "issue edit 12" in log.read_text()
    talk(server[1], lambda js: _change(js, max_age=7 * 24 * 3600 * 10**9))
    assert runner.job(WORKFLOWS / "drift.yml") == 0
    assert "issue close 12" in log.read_text()


async def _config(js: JetStream) -> dict[str, object]:
    return dict(done(await js.request("STREAM.INFO.ORDERS"))["config"])


async def _change(js: JetStream, **fields: object) -> None:
    done(await js.request("STREAM.UPDATE.ORDERS", {**(await _config(js)), **fields}))


def test_gitlab_runs_what_it_says(repository: Repository, runner: Runner, server: tuple[NatsServer, Place]) -> None:
    """Each job's own script, with the variables GitLab would give it: no protected one in a merge request."""
    file = ROOT / "examples" / "ci" / "gitlab" / ".gitlab-ci.yml"
    jobs, protected = loaded(file), re.findall(r"(NATS_\w+) protected", file.read_text(encoding="utf-8"))
    (runner.temp / "creds").write_text(runner.known["secrets.NATS_CREDENTIALS"])
    runner.script(runner.temp / "bin" / "reconciler", f'exec "{runner.temp}/reconciler-venv/bin/reconciler" "$@"')
    creds = str(runner.temp / "creds")
    environ = {
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "NATS_URL": runner.known["vars.NATS_URL"],
        "NATS_CREDS_READ": creds, "NATS_CREDS_WRITE": creds,
    }  # fmt: skip
    repository.commit({"streams/orders.yaml": TOPOLOGY.replace("7d", "3d")})
    in_merge_request = {name: value for name, value in environ.items() if name not in protected}
    assert protected == ["NATS_CREDS_WRITE"]
    for job in ("review", "plan", "apply", "drift"):
        given = in_merge_request if "merge_request_event" in str(jobs[job]["rules"]) else environ
        code, _ = runner.run("\n".join(jobs[job]["script"]), given)
        assert code == 0, (job, runner.said)
    assert "max_age" in (repository.folder / "review.md").read_text()
    assert json.loads((repository.folder / "plan.json").read_text())["summary"]["create"] == 1
