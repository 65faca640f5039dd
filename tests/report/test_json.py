"""The JSON contract: what is written is read back equal, and fits the published schema."""

from __future__ import annotations

import json
import math
import operator
import unicodedata
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.changes.change import Action, Consequence, FieldChange, FieldClass
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.journeys.saved.codec import plan_schema
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity, SourceSpan
from reconciler.model.fields import FieldInfo, Unit
from reconciler.model.ledger.records import Owned
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import Version
from reconciler.report.codec.json import _with_escapes, json_text, plan_json
from tests.report.golden import same_as_golden
from tests.report.plans import everything, members_moved, plan
from tests.support.plans import plan_from_json

SCHEMA = json.loads(plan_schema())

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
texts = st.lists(text, max_size=3).map(tuple)
counts = st.integers(0, 2**63 - 1)
json_values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**64 - 1) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner | st.none(), max_size=2),
    max_leaves=4,
)  # fmt: skip
configs = st.dictionaries(text, json_values, max_size=3)
quantities = st.dictionaries(text, counts, max_size=2)
names = st.text("abcXYZ-_ é", min_size=1, max_size=5)
addresses = st.builds(
    lambda kind, *rest: "/".join((kind, *rest)), st.sampled_from(["stream", "consumer"]), names, names
)
codes = st.from_regex(r"[A-Z]{2}[0-9]{3}", fullmatch=True)
spans = st.builds(SourceSpan, text, *[st.integers(1, 9999)] * 4)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


infos = st.builds(
    FieldInfo,
    unit=st.sampled_from(get_args(Unit)),
    default=maybe(json_values),
    ordered=st.booleans(),
    nested_unordered=texts,
)
fields = st.builds(
    FieldChange, path=text, live=maybe(json_values), desired=maybe(json_values),
    field_class=st.sampled_from(FieldClass), info=infos,
)  # fmt: skip
verdicts = st.builds(
    Verdict, code=codes, name=text, outcome=st.sampled_from(Outcome), message=text, address=addresses, path=text,
    span=maybe(spans), fix=maybe(text), to=maybe(json_values), consentable=st.booleans(), consented=maybe(text),
    quantities=quantities,
)  # fmt: skip
records = st.builds(
    Owned,
    topology=text,
    source=maybe(text),
    git_revision=maybe(text),
    fields=configs,
    left=texts,
    knows=text,
    protected=st.booleans(),
    revision=counts,
)
changes = st.builds(
    PlannedChange, address=addresses, action=st.sampled_from(Action), fields=st.tuples(fields),
    verdicts=st.tuples(verdicts),
    consequences=st.tuples(st.builds(Consequence, message=text, quantities=quantities, detail=configs)),
    span=maybe(spans), reason=text, adopts=st.booleans(), blocked_by=maybe(addresses), record=maybe(records),
)  # fmt: skip
steps = st.builds(
    Step, id=text, call=st.sampled_from(Call), on=texts, address=addresses, body=configs, set=configs, unset=texts,
    value=maybe(text), revision=maybe(counts), before=maybe(configs), level=st.integers(0, 9), after=texts,
    undoes=maybe(text), effect=text,
)  # fmt: skip
targets = st.builds(
    Target, version=st.builds(Version, *[st.integers(0, 99)] * 3), level=st.integers(0, 9), account=maybe(text),
    user=maybe(text), domain=maybe(text), cluster=maybe(text), peers=maybe(st.integers(1, 9)),
    limits=configs, usage=configs,
)  # fmt: skip
diagnostics = st.builds(
    Diagnostic, severity=st.sampled_from(Severity), code=codes, name=text, message=text, address=maybe(text),
    span=maybe(spans), fix=maybe(text),
)  # fmt: skip
by_address = operator.attrgetter("address")
plans = st.builds(
    Plan, topology=text, target=targets, steps=st.lists(steps, max_size=2).map(tuple),
    changes=st.lists(changes, max_size=3, unique_by=by_address).map(lambda some: tuple(sorted(some, key=by_address))),
    diagnostics=st.lists(diagnostics, max_size=2).map(tuple), kept=counts,
    unmanaged=st.lists(addresses, max_size=2).map(tuple), read=quantities, hidden=counts, ledger_known=st.booleans(),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(plans)
def test_what_is_written_is_read_back_equal(one: Plan) -> None:
    assert plan_from_json(plan_json(one)) == one


@settings(max_examples=100, deadline=None)
@given(plans)
def test_every_plan_fits_the_schema(one: Plan) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(plan_json(one)))


@settings(max_examples=100, deadline=None)
@given(plans)
def test_nothing_in_the_text_is_a_control_character(one: Plan) -> None:
    assert all(unicodedata.category(character) != "Cc" for character in plan_json(one).replace("\n", ""))


def test_the_contract_reads_as_shown() -> None:
    same_as_golden("everything.json", plan_json(everything()))


def test_the_schema_is_valid_and_strict() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = json.loads(plan_json(plan(members_moved())))
    data["changes"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(data)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schemas_are_valid_and_up_to_date(name: str) -> None:
    published, text = Path(__file__).parents[2] / "schemas" / f"{name}.schema.json", SCHEMAS[name]()
    assert published.read_text(encoding="utf-8") == text, "run: reconciler schema --write schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_an_absent_value_is_a_missing_key() -> None:
    data = json.loads(plan_json(plan(members_moved())))
    assert "default" not in data["changes"][0]["fields"][0]
    assert "fix" not in data["changes"][0]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("nonsense", "not JSON"),
        ("[]", "not a plan"),
        ('{"format": 99}', "format 99"),
        ('{"format": 1, "topology": "x"}', "damaged"),
    ],
)
def test_what_is_not_a_plan_is_refused_with_the_reason(broken: str, why: str) -> None:
    with pytest.raises(CannotContinue, match=why):
        plan_from_json(broken)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None)) | st.just("NaN"),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
)


@given(data=st.dictionaries(st.text(), PLAIN))
def test_text_that_is_written_fast_is_the_text_that_python_writes(data: dict[str, Any]) -> None:
    assert json_text(data) == _with_escapes(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"


def test_a_number_that_json_lacks_is_written_by_nobody() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"a": math.inf})
