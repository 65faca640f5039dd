"""fleet.yaml becomes targets; what is wrong in it is told at its line and column, and no secret with it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import jsonschema
import pytest

from reconciler.fleet.accounts.fleet_file import fleet_file_schema, load_fleet
from reconciler.fleet.accounts.targets import Fleet
from reconciler.model.diagnostic import CannotContinue

HEADER = "reconciler: 1\nfleet: shops\n"


def load(folder: Path, text: str, header: str = HEADER) -> Fleet:
    file = folder / "fleet.yaml"
    file.write_text(header + text, encoding="utf-8")
    return load_fleet(file)


def wrong(folder: Path, text: str) -> list[tuple[str, str]]:
    """What is wrong with the targets, and where: the header is two lines."""
    with pytest.raises(CannotContinue) as raised:
        load(folder, text)
    return [(f"{one.span.line - 2}:{one.span.column}", one.message) for one in raised.value.diagnostics if one.span]


def test_a_target_says_where_it_is_and_what_it_holds(tmp_path: Path) -> None:
    text = """
targets:
  eu:
    context: prod-eu
    topology: topologies/orders
    values: {region: eu, replicas: 3, size: 20GiB, mirrored: true}
    labels: {team: billing}
    deadline: 90s
    js_domain: hub
"""
    (eu,) = load(tmp_path, text).targets
    assert (eu.name, eu.settings.context, eu.settings.js_domain, eu.deadline) == ("eu", "prod-eu", "hub", 90.0)
    assert eu.topology == (tmp_path / "topologies/orders",)
    assert eu.values == {"region": "eu", "replicas": "3", "size": "20GiB", "mirrored": "true"}
    assert eu.labels == {"team": "billing"}


def test_defaults_hold_where_a_target_says_nothing_else(tmp_path: Path) -> None:
    text = """
defaults: {topology: [orders], deadline: 30s, timeout: 2s, labels: {stage: prod}, creds: all.creds, server: "nats://hub"}
targets:
  eu: {labels: {region: eu}}
  us: {creds: us.creds, deadline: 5m}
  lab: {context: lab}
"""
    eu, us, lab = load(tmp_path, text).targets
    assert (eu.labels, eu.deadline, eu.settings.timeout) == ({"stage": "prod", "region": "eu"}, 30.0, "2.000000000s")
    assert (us.settings.creds, us.settings.url, us.deadline) == (str(tmp_path / "us.creds"), "nats://hub", 300.0)
    assert (lab.settings.context, lab.settings.creds, lab.settings.url) == ("lab", None, None)


def test_paths_are_those_from_where_the_file_is(tmp_path: Path) -> None:
    text = """
targets:
  a: {server: x, creds: ./a.creds}
  b: {server: x, creds: ~/b.creds}
  c: {server: x, user: c, password: "file://secrets/c"}
  d: {context: d.json}
"""
    a, b, c, d = (target.settings for target in load(tmp_path, text).targets)
    assert (a.creds, b.creds) == (str(tmp_path / "a.creds"), "~/b.creds")
    assert c.password == f"file://{tmp_path / 'secrets/c'}"
    assert d.context == str(tmp_path / "d.json")


def test_a_variable_meant_for_one_account_is_none_of_all_the_others(tmp_path: Path) -> None:
    (eu,) = load(tmp_path, "targets: {eu: {server: 'nats://eu'}}").targets
    options = eu.options({"NATS_URL": "nats://elsewhere", "NATS_USER": "me", "HOME": str(tmp_path)})
    assert (options.servers[0].url, options.user, options.token) == ("nats://eu:4222", None, None)


def test_what_goes_to_another_machine_holds_no_secret_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("correct-horse", encoding="utf-8")
    (eu,) = load(tmp_path, "targets: {eu: {server: x, user: u, password: 'file://secret'}}").targets
    sent = pickle.dumps(eu.portable_copy())
    assert b"correct-horse" not in sent
    assert pickle.loads(sent).options({}).user == "u"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("targets: {eu: {contxt: a}}", "1:16", "targets.eu: unknown key `contxt`; did you mean `context`?"),
        ("targets: {eu: {}}", "1:11", "targets.eu does not say how to reach it; write context: NAME or server: URL"),
        ("targets: {}", "1:10", "targets has 0 entries; write at least 1"),
        ("targets:\n  no: {context: a}", "2:3", '`no` is a boolean to YAML readers; put it in quotes: "no"'),
        ("targets: {a/b: {context: a}}", "1:11", "`a/b` cannot be the name of a target; a name is not empty, and has no slash"),
        (
            "targets: {eu: {server: x, user: u}}", "1:33",
            "targets.eu.user also needs `password`",
        ),
        (
            "targets: {eu: {context: a, deadline: soon}}", "1:38",
            "targets.eu.deadline `soon` is not a duration; write 7d, 36h, 90s or nanoseconds",
        ),
        (
            "targets: {eu: {server: 'http://x'}}", "1:24",
            "targets.eu.server: Server 1 of 1 is not a server URL. Nothing was changed. Write nats://host:port or "
            "tls://host:port; special characters in a password as %40 (@) or %2C (comma).",
        ),
        ("targets: [a]", "1:10", "targets is a list; write a mapping (`key: value`)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, text: str, place: str, message: str) -> None:
    assert wrong(tmp_path, text) == [(place, message)]


@pytest.mark.parametrize(
    "said",
    [
        "{server: x, user: u, password: correct-horse}",
        "{server: x, token: correct-horse}",
        "{server: 'nats://u:correct-horse@x'}",
        "{server: x, creds: 'data:;base64,correct-horse'}",
        r'{server: x, creds: "-----BEGIN NATS USER JWT-----\ncorrect-horse\n------END NATS USER JWT------"}',
        "{server: x, creds: '-----BEGIN NATS USER JWT----- correct-horse ------END'}",
        "{server: x, creds: eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.correct-horse}",
        "{server: x, creds: LS0tLS1CRUdJTiBOQVRTcorrect-horse}",
        "{server: x, creds: env://eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.correct-horse}",
        "{server: x, nkey: '# mine: -----BEGIN USER NKEY SEED----- correct-horse'}",
        r'{server: x, nkey: "# mine\ncorrect-horse\n"}',
        *(
            rf'{{server: x, {name}: "-----BEGIN PRIVATE KEY-----\ncorrect-horse\n"}}'
            for name in ("tlscert", "tlskey", "tlsca")
        ),
        """{server: x, context: '{"url": "x", "token": "correct-horse"}'}""",
        r'{server: x, topology: [a, "-----BEGIN PRIVATE KEY-----\ncorrect-horse\n"]}',
    ],
)
def test_a_secret_is_refused_and_not_repeated(tmp_path: Path, said: str) -> None:
    for text in (f"targets: {{eu: {said}}}", f"defaults: {said}\ntargets: {{eu: {{server: x}}}}"):
        ((_, message),) = wrong(tmp_path, text)
        assert "correct-horse" not in message


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    assert len(wrong(tmp_path, "targets:\n  a: {}\n  b: {server: x, token: t}\n  c: {server: 'u:p@x'}")) == 3


@pytest.mark.parametrize("text", ["", "- a\n", "just text\n", "{"])
def test_what_is_no_fleet_at_all_is_told_too(tmp_path: Path, text: str) -> None:
    with pytest.raises(CannotContinue):
        load(tmp_path, text, header="")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotContinue, match="cannot be read: no such file"):
        load_fleet(tmp_path / "none.yaml")


def test_the_schema_takes_what_the_reader_takes() -> None:
    schema = json.loads(json.dumps(fleet_file_schema()))
    target = {"context": "prod-eu", "values": {"replicas": 3}, "topology": ["a", "b"], "deadline": "90s"}
    jsonschema.validate({"reconciler": 1, "fleet": "shops", "targets": {"eu": target}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"reconciler": 1, "fleet": "shops", "targets": {"eu": {"contxt": "a"}}}, schema)


def test_an_environment_that_no_file_declares_is_told_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "reconciler: 1\ntopology: t\nenvironments: {prod: {context: p}}\n", encoding="utf-8"
    )
    text = "targets:\n  a: {topology: t.yaml, environment: prd}\n  b: {topology: t.yaml, environment: prod}\n"
    assert wrong(tmp_path, text) == [
        ("2:38", "targets.a.environment `prd` is none of its topology; did you mean `prod`?"),
    ]
    (_, b) = load(tmp_path, text.replace("prd", "prod")).targets
    assert (b.settings.context, b.environment) == ("p", "prod")
