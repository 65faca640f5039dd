"""Files of other tools become topologies: in their units, with their defaults, and with whatever is left out named at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.export.importing import Imported, import_files
from reconciler.journeys.plan.validate import validate
from reconciler.model.diagnostic import Diagnostic
from tests.support import foreign

AGED = foreign.TERRAFORM.replace('"max_age": 604800', '"max_age": "x"')


def read(folder: Path, *texts: str, ending: str = "json") -> Imported:
    paths = [folder / f"{number}.{ending}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return import_files(paths)


def said(found: Imported) -> list[str]:
    return [f"{line(one)} {one.code} {one.address or ''}".strip() for one in found.problems]


def line(one: Diagnostic) -> int:
    assert one.span
    return one.span.line


@pytest.mark.parametrize(
    ("text", "ending"), [(foreign.INFO, "json"), (foreign.TERRAFORM, "tfstate"), (foreign.NACK, "yaml")]
)
def test_what_is_imported_is_valid(tmp_path: Path, text: str, ending: str) -> None:
    out = tmp_path / "out" / "topology.yaml"
    out.parent.mkdir()
    out.write_text(read(tmp_path, text, ending=ending).text, encoding="utf-8")
    topology, problems = validate([out])
    assert topology is not None
    assert [str(one) for one in problems if one.is_error] == []


def test_the_servers_own_json_loses_its_defaults_and_nothing_else(tmp_path: Path) -> None:
    found = read(tmp_path, foreign.INFO, foreign.CONSUMER)
    assert said(found) == []
    assert found.text == (
        "reconciler: 1\ntopology: imported\n\n"
        "streams:\n  ORDERS:\n    subjects: [orders.>]\n    max_age: 7d\n    allow_direct: true\n"
        "    metadata:\n      team: billing\n"
        "    consumers:\n      dispatch:\n        ack_policy: explicit\n        ack_wait: 45s\n"
    )


def test_a_consumer_alone_stands_under_a_stream_of_somebody_else(tmp_path: Path) -> None:
    assert "  ORDERS:\n    external: true\n    consumers:\n" in read(tmp_path, foreign.CONSUMER).text


def test_lists_of_the_api_hold_several(tmp_path: Path) -> None:
    found = read(tmp_path, f'{{"streams": [{foreign.INFO}], "total": 1}}', f"[{foreign.CONSUMER}]")
    assert (found.count, said(found)) == (2, [])


def test_a_terraform_state_is_read_in_its_units(tmp_path: Path) -> None:
    found = read(tmp_path, foreign.TERRAFORM, ending="tfstate")
    for words in (
        "max_age: 7d", "no_ack: true", "opt_start_seq: 7", "external: {api: $JS.hub.API}", "deliver_policy: new",
        "ack_wait: 45s", "backoff: [1s, 1m]", 'sample_freq: 30%', "max_ack_pending: 20000", "history: 5", "ttl: 1d",
        "inactive_threshold: 1h",
    ):  # fmt: skip
        assert words in found.text
    assert said(found) == ["3 IM101", "8 IM101 stream/ORDERS", "21 IM101"]
    assert "not to be shown" not in found.text + "".join(one.message for one in found.problems)


def test_nack_says_its_own_defaults_and_what_it_never_sent(tmp_path: Path) -> None:
    found = read(tmp_path, foreign.NACK, ending="yaml")
    for words in (
        "    storage: memory\n", "    protect: true\n", "ack_policy: none", "ack_wait: 1m30s", "deliver_policy: last_per_subject",
        "limit_marker_ttl: 1m", "ttl: 1d12h", "compression: s2",
    ):  # fmt: skip
        assert words in found.text
    assert said(found) == [
        "4 IM105 stream/ORDERS", "9 IM101 stream/ORDERS", "17 IM105 consumer/ORDERS/dispatch", "17 IM105 consumer/ORDERS/dispatch",
        "30 IM101 consumer/ORDERS/pinned", "44 IM101",
    ]  # fmt: skip
    assert "priority_groups" not in found.text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"), ("[]", ""), ("7: [", "expected"), ('{"name": "x"}', "this is nothing known"),
        ('{"config": {"name": "S", "retention": "sometimes"}}', "retention"),
        ('{"config": {"name": "S", "subjects": 7}}', "no server knows such a configuration"),
        ('{"config": {"name": "S", "metadata": ["a"]}}', "no server knows such a configuration"),
        ('{"version": 3, "terraform_version": "0.11"}', "version 4"), ('{"version": 3, "serial": 1, "modules": []}', "version 4"),
        (AGED, "max_age"),
        ("apiVersion: jetstream.nats.io/v1beta2\nkind: Stream\nspec: {name: S, maxAge: 1d}\n", "`1d` is not a duration"),
        ("apiVersion: jetstream.nats.io/v1\nkind: Stream\nspec: {name: S}\n", "v1beta2"),
        ("apiVersion: jetstream.nats.io/v1beta2\nkind: Stream\nspec: {name: S, sources: 7}\n", "sources"),
        (
            "apiVersion: jetstream.nats.io/v1beta2\nkind: Consumer\nspec: {streamName: S, durableName: c, sampleFreq: 101%}\n",
            "`101%` is not a number from 0 to 100",
        ),
        (f"[{foreign.INFO}, {foreign.INFO}]", "described here and at"),
        ("\x00", "UTF"), ('{"config": {"name": "\\ud83d"}}', "half a character"), ('{"config": {"name": "KV_"}}', "no name"),
        ("[" * 100_000, "nested too deep"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path: Path, text: str, what: str) -> None:
    errors = [one for one in read(tmp_path, text, ending="x").problems if one.is_error]
    assert [what in one.message and one.span is not None for one in errors] == ([True] if what else [])


@pytest.mark.parametrize(
    "text", ['{"config": {"name": "S"}, "stream_name": "S", "name": "c"}', '{"config": {"name": "S", "invented": 7}}']
)
def test_what_no_file_can_say_is_named(tmp_path: Path, text: str) -> None:
    assert [one.code for one in read(tmp_path, text).problems] == ["IM101"]


def test_an_unknown_key_of_a_manifest_is_named_where_it_stands(tmp_path: Path) -> None:
    text = "apiVersion: jetstream.nats.io/v1beta2\nkind: KeyValue\nspec:\n  bucket: B\n  colour: red\n"
    assert said(read(tmp_path, text, ending="yaml")) == ["5 IM101 kv_bucket/B"]


@pytest.mark.parametrize("servers", ["[nats://a:4222]", "[nats://a:4222, 'nats://b:4222']", "{first: nats://a:4222}"])
def test_a_colon_in_a_list_needs_no_quotes_in_files_of_others(tmp_path: Path, servers: str) -> None:
    text = f"apiVersion: jetstream.nats.io/v1beta2\nkind: KeyValue\nspec:\n  bucket: B\n  servers: {servers}\n"
    found = read(tmp_path, text, ending="yaml")
    assert said(found) == ["5 IM101 kv_bucket/B"]


@pytest.mark.parametrize("name", ["main.tf", "main.tf.json", "main.tofu"])
def test_a_configuration_of_terraform_leads_to_its_state(tmp_path: Path, name: str) -> None:
    body = (
        '{"resource": {"jetstream_stream": {"o": {"name": "O"}}}}' if name.endswith("json") else 'resource "a" "b" {}\n'
    )
    (tmp_path / name).write_text(body)
    (problem,) = import_files([tmp_path / name]).problems
    assert (problem.code, problem.message) == (
        "IM103", "this is a Terraform configuration, which only Terraform evaluates"
    )  # fmt: skip
    assert problem.fix == "give what `terraform state pull` prints"


TEMPLATES = {
    "a condition comes first": "{{- if .Values.on }}\nkind: Stream\n{{- end }}\n",
    "a condition comes later": "kind: Stream\n{{- with .Values.orders }}\nspec: {name: S}\n{{- end }}\n",
    "a value": "kind: Stream\nspec:\n  name: {{ .Values.name }}\n  subjects: [{{ .Values.subject }}]\n",
    "in JSON": '{"config": {"name": {{ toYaml .Values.name }}}}',
}


@pytest.mark.parametrize("text", TEMPLATES.values(), ids=list(TEMPLATES))
def test_a_template_of_helm_leads_to_what_helm_prints(tmp_path: Path, text: str) -> None:
    (problem,) = read(tmp_path, text, ending="yaml").problems
    assert (problem.code, problem.message, problem.fix) == (
        "IM103", "this is a Helm template, which only Helm evaluates", "give what `helm template` prints"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kind: Stream\nspec: {name: S, dest: {{partition(3,1)}}.x}\n", "mapping"),
        ('{"config": {"name": "S", "subject_transform": {"dest": {{wildcard(1)}}}}}', "not JSON"),
    ],
)
def test_a_subject_transform_makes_no_template_of_helm(tmp_path: Path, text: str, what: str) -> None:
    assert [what in problem.message for problem in read(tmp_path, text).problems] == [True]


def test_a_file_that_only_mentions_a_template_is_read(tmp_path: Path) -> None:
    text = '{"config": {"name": "S", "subjects": ["s"], "description": "from {{ .Values.name }}"}}'
    assert (read(tmp_path, text).count, said(read(tmp_path, text))) == (1, [])


def manifest(kind: str, spec: str) -> str:
    return f"apiVersion: jetstream.nats.io/v1beta2\nkind: {kind}\nspec: {{{spec}}}\n"


@pytest.mark.parametrize(
    ("spec", "age", "codes"),
    [
        ("", "", ["IM105"]), (", maxAge: ''", "", ["IM105"]),
        (", maxAge: 0s", "", []), (", maxAge: 24h", "    max_age: 1d\n", []),
    ],
)  # fmt: skip
def test_whether_nack_keeps_messages_for_a_year_no_manifest_tells(
    tmp_path: Path, spec: str, age: str, codes: list[str]
) -> None:
    found = read(tmp_path, manifest("Stream", f"name: S, subjects: [s], storage: file{spec}"), ending="yaml")
    assert found.text == f"reconciler: 1\ntopology: imported\n\nstreams:\n  S:\n    subjects: [s]\n{age}"
    assert [problem.code for problem in found.problems] == codes
    assert all("NACK with `--control-loop` has set 365d" in problem.message for problem in found.problems)


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        ("ackPolicy: none, filterSubjects: [s], sampleFreq: '30'", "filter_subject: s|ack_wait: 1ns|sample_freq: 30%"),
        ("ackPolicy: none, filterSubjects: [s, t], sampleFreq: 30%", "filter_subjects: [s, t]|ack_wait: 1ns|sample_freq: 30%"),
        ("ackPolicy: explicit, sampleFreq: '0'", "ack_policy: explicit|ack_wait: 1ns"),
        ("ackPolicy: explicit, ackWait: ''", "ack_policy: explicit"),
        ("ackPolicy: explicit, maxDeliver: 2, backoff: [10s]", "ack_policy: explicit|max_deliver: 2|backoff: [10s]"),
    ],
)  # fmt: skip
def test_a_consumer_of_nack_is_written_as_nack_sends_it(tmp_path: Path, spec: str, written: str) -> None:
    text = manifest("Consumer", f"streamName: S, durableName: c, {spec}")
    found = read(tmp_path, text, ending="yaml")
    lines = [line.strip() for line in found.text.partition("      c:\n")[2].splitlines()]
    assert lines == written.split("|")


def test_a_folder_is_read_with_its_backups(tmp_path: Path) -> None:
    head = foreign.INFO.replace('"created": "2026-03-01T08:00:00Z", ', "")
    (tmp_path / "ORDERS").mkdir()
    (tmp_path / "ORDERS" / "backup.json").write_text(head)
    found = import_files([tmp_path])
    assert (found.count, [one.code for one in found.problems]) == (1, ["IM101"])
    assert "consumers (1) are in the archive" in found.problems[0].message
