"""The published schema of a plan's JSON, strict: JSON Schema 2020-12, hand-written because it is a contract."""

from __future__ import annotations

from reconciler.changes.diff import Action, FieldClass
from reconciler.changes.plan import FORMAT
from reconciler.changes.verdict import Outcome, Reaction
from reconciler.engine.bindings import Bind
from reconciler.model.diagnostic import Severity
from reconciler.model.wire.steps import Call
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    AMOUNTS,
    CODE,
    CONFIG,
    COUNT,
    COUNTS,
    FLAG,
    INFO,
    POSITION,
    RAW,
    TEXT,
    TEXTS,
    UNIT,
    UNITS,
    VALUE,
    VERSION,
    Schema,
    fixed,
    format_of,
    list_of,
    one_of,
    one_of_texts,
    published,
    ref,
    says,
    schema_text,
)

ADDRESSES: Schema = {"type": "array", "items": ADDRESS}
REASON, UNTIL = TEXT | says("Why, as the file says it."), TEXT | says("The last day on which it counts.")


def plan_schema() -> str:
    """Return the text of `plan.schema.json`, which also describes plans saved with `--out`."""
    return schema_text(_plan())


def _plan() -> Schema:
    said = {
        "summary": _summary()
        | says("How many resources there are of each action; a refused change counts as refused only."),
        "changes": list_of("change") | says("Every resource that is not merely kept, by address."),
        "steps": list_of("step") | says("What an apply would send, in an order that servers accept."),
        "unmanaged": ADDRESSES | says("What is live, but neither declared nor owned by this topology."),
        "hidden": COUNT | says("Changes that `--only` and `--exclude` leave out."),
    }
    fingerprint = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"} | says(
        "A digest of all the rest, to notice edits and damage."
    )
    return published(
        "reconciler plan",
        "The changes to make in one account, how they were judged, and the steps that would run.",
        fixed(
            {**one_account(FORMAT), **said},
            saved=ref("saved") | says("What `apply` needs besides the plan; only in plans saved with `--out`."),
            fingerprint=fingerprint,
        ),
        {**places(), **changes(), "step": _step(), "saved": _saved()},
    )


def _summary() -> Schema:
    return fixed(
        {
            "create": COUNT | says("To be created."),
            "update": COUNT | says("To be changed in place."),
            "replace": COUNT | says("To be deleted and recreated with their position."),
            "delete": COUNT | says("To be deleted."),
            "adopt": COUNT | says("Live as declared, and to be recorded as owned."),
            "keep": COUNT | says("As declared, with nothing to do."),
            "orphan": COUNT | says("Owned and live, but no longer declared; they are kept."),
            "unknown": COUNT | says("Their live state could not be read; nothing is done."),
            "refused": COUNT | says("Refused, whatever the change is."),
        },
        forget=COUNT | says("No longer managed; the objects stay."),
        absent=COUNT | says("Neither live nor wanted, for example an entry in `removed:` whose object is gone."),
    )


def one_account(format_: int) -> Schema:
    """What every report about an account and the files of a topology contains."""
    return {
        "format": format_of(format_),
        "topology": TEXT | says("Name of the topology."),
        "target": ref("target") | says("The account and the servers that answered."),
        "diagnostics": list_of("diagnostic") | says("Findings besides the verdicts."),
        "read": COUNTS | says("How many objects of each kind were read."),
        "ledger_known": FLAG
        | says("False: bucket `reconciler` could not be read, so it is unknown what was applied last."),
    }


def places() -> dict[str, Schema]:
    """Where a plan was made, and what was found there."""
    return {
        "target": fixed(
            {
                "version": VERSION | says("The lowest version of nats-server among those that answered."),
                "level": COUNT | says("JetStream API level of the server."),
                "limits": CONFIG | says("Limits of the account, as the server reports them."),
                "usage": CONFIG | says("What the account uses, as the server reports it."),
            },
            account=TEXT | says("Name or public key of the account."),
            user=TEXT | says("Name of the user; never in a saved plan."),
            domain=TEXT | says("JetStream domain."),
            cluster=TEXT | says("Name of the cluster. A missing key: a single server."),
            peers=POSITION | says("How many servers take part in JetStream, where that is known."),
        ),
        "span": fixed(
            {
                "file": TEXT | says("Path of the file."),
                "line": POSITION | says("First line, from 1."),
                "column": POSITION | says("First column, from 1, in characters."),
                "end_line": POSITION | says("Last line."),
                "end_column": POSITION | says("Column after the last character."),
            }
        ),
        "diagnostic": fixed(
            {
                "severity": one_of(Severity) | says("`error` fails the command; the others do not."),
                "code": CODE | says("The code, for `reconciler explain`."),
                "name": TEXT | says("The code's name."),
                "message": TEXT | says("What is wrong, in a sentence."),
            },
            address=TEXT | says("The resource that it is about."),
            span=ref("span") | says("The place in the files."),
            fix=TEXT | says("What to do about it."),
        ),
    }


def changes() -> dict[str, Schema]:
    """The change of one resource."""
    return {
        "change": fixed(
            {
                "address": ADDRESS | says("The resource."),
                "action": one_of(Action) | says("What happens to it."),
                "fields": list_of("field") | says("Fields that differ."),
                "verdicts": list_of("verdict") | says("How the rules judge it."),
                "consequences": list_of("consequence") | says("What it does to messages and clients."),
            },
            span=ref("span") | says("Where the file declares it."),
            reason=TEXT | says("Why, where the action alone does not say it."),
            adopts=FLAG | says("True: it is live, and an apply makes this topology its owner."),
            blocked_by=ADDRESS | says("A blocked resource that it depends on."),
            record=ref("record") | says("The record of it once this is applied."),
        ),
        "field": _field(),
        "verdict": _verdict(),
        "consequence": fixed(
            {"message": TEXT | says("What happens, in a sentence.")},
            code=TEXT | says("The code whose page says more."),
            quantities=COUNTS | says("Counts, or bounds of them."),
            bounds=AMOUNTS | says("Of the quantities, those that were not counted, between two bounds."),
            detail=CONFIG | says("Data for a picture, such as which partitions move."),
        ),
        "record": _record(),
    }


def _field() -> Schema:
    return fixed(
        {
            "path": TEXT | says("The field, with dots and indexes: `sources[1].filter_subject`."),
            "class": one_of(FieldClass)
            | says("Who changed it since it was last applied: the file (`config`), somebody outside (`drifted`), "
                   "or `both`; `plain` where there is no record."),
            "unit": UNIT | says(UNITS),
        },
        live=VALUE | says(f"The value that is live. {RAW}"),
        desired=VALUE | says(f"The value that is wanted. {RAW}"),
        ordered=FLAG | says("False: the order of the list has no meaning."),
        nested_unordered=TEXTS | says("Paths of such lists inside the value."),
        filled=TEXT | says("Where the wanted value comes from, if the file leaves it out: `default`, `from consumer_limits`."),
        **INFO,
    )  # fmt: skip


def _verdict() -> Schema:
    other = fixed(
        {"address": ADDRESS | says("The object that the change affects.")},
        owner=TEXT | says("The topology that applied it. A missing key: none is known."),
    )
    return fixed(
        {
            "code": CODE | says("The rule, for `reconciler explain`."),
            "name": TEXT | says("The rule's name."),
            "outcome": one_of(Outcome) | says("What it means for the change, best first."),
            "message": TEXT | says("What the rule found, in a sentence."),
            "address": ADDRESS | says("The resource."),
            "reaction": one_of_texts(*(one.name.lower() for one in Reaction))
            | says("What the server itself would do about it."),
        },
        path=TEXT | says("The field that it is about."),
        span=ref("span") | says("The place in the files."),
        fix=TEXT | says("What to do instead."),
        to=VALUE | says("The value that a consent must name."),
        consentable=FLAG | says("True: a consent lifts it."),
        consented=TEXT | says("The reason that somebody gave for allowing it."),
        quantities=COUNTS | says("Counts, or bounds of them."),
        bounds=AMOUNTS | says("Of the quantities, those that were not counted, between two bounds."),
        others={"type": "array", "items": other} | says("Affected objects that do not belong to this topology."),
    )


def _record() -> Schema:
    return fixed(
        {
            "topology": TEXT | says("The owner."),
            "fields": CONFIG | says("The managed fields, as applied; a field missing here had its default."),
            "revision": COUNT | says("Revision of the entry in bucket `reconciler`; 0: there is none yet."),
        },
        source=TEXT | says("The repository that it came from."),
        git_revision=TEXT | says("The git revision that it came from."),
        filled=CONFIG | says("What the server filled in where the file said nothing."),
        expected=CONFIG | says("Of these, what something else decided, such as a limit of the stream."),
        left=TEXTS | says("Paths that the file left unmanaged."),
        protected=FLAG | says("True: it was applied with `protect: true`."),
        knows=TEXT | says("The newest minor of nats-server that the writing tool knew."),
        start=CONFIG | says("Where a replacement had to start, whatever the file says."),
        seen=CONFIG | says("Which object it was, and its position."),
    )


def _step() -> Schema:
    uses = {"type": "object", "additionalProperties": TEXT}
    return fixed(
        {
            "id": TEXT | says("Unique in its plan."),
            "call": one_of(Call) | says("The request; a `gate` only looks and waits."),
            "on": TEXTS | says("The object: a stream, a stream and a consumer, or a bucket and a key."),
            "address": ADDRESS | says("The resource that needs it."),
        },
        body=CONFIG | says("What is sent, or what a gate waits for."),
        set=CONFIG | says("Fields that an update writes, in the server's names and raw values."),
        unset=TEXTS | says("Fields that an update leaves out, which gives them the server's default."),
        value=TEXT | says("Text of the entry that is written."),
        revision=COUNT | says("Revision of the entry to expect; 0: the key must not exist."),
        before=CONFIG | says("What must still be live, or this step and all after it are left out."),
        level=COUNT | says("JetStream API level that the server must have."),
        bind=one_of(Bind) | says("The function that makes a value of this step's answer, for later steps."),
        uses=uses | says("Where such values belong, with the step that makes each."),
        after=TEXTS | says("Steps that must have succeeded before."),
        undoes=TEXT | says("The step that must have been refused for this one to run."),
        effect=TEXT | says("What it does, in words."),
    )


def _saved() -> Schema:
    """What a saved plan holds besides the plan itself: both or neither of `saved` and `fingerprint`."""
    return fixed(
        {
            "made_by": TEXT | says("Version of the tool that saved it."),
            "empty": FLAG | says("True: it creates, updates, replaces and deletes nothing."),
            "blocked": COUNT | says("Changes that are not carried out: refused, without consent, or unknown."),
            "exit_code": COUNT | says("The exit code that the plan ended with."),
            "terms": _terms() | says("Options that the plan was made with."),
            "declared": _declared() | says("Everything that the files declare."),
            "place": _place() | says("What tells this account from every other one."),
            "seen": {"type": "object", "additionalProperties": CONFIG}
            | says("The objects that it touches, as they were."),
            "state": TEXT | says("Fingerprint of everything that was read."),
        },
        source=TEXT | says("The repository that the files are in."),
        git_revision=TEXT | says("The git revision of the files."),
    )


def _terms() -> Schema:
    return fixed(
        {
            "only": TEXTS | says("Given with `--only`."),
            "exclude": TEXTS | says("Given with `--exclude`."),
            "allow": {"type": "array", "items": TEXTS} | says("Given with `--allow`: code and address."),
            "paths": TEXTS | says("The files and folders."),
        },
        take_over=TEXTS | says("Given with `--take-over`."),
    )


def _declared() -> Schema:
    resource = fixed({"address": ADDRESS | says("The resource."), "spec": CONFIG | says("What the file says of it.")})
    removal = fixed({"address": ADDRESS | says("What to delete."), "reason": REASON}, until=UNTIL)
    move = fixed(
        {"from": TEXT | says("The address before."), "to": TEXT | says("The address from now on.")},
        reason=REASON, until=UNTIL,
    )  # fmt: skip
    guard = fixed(
        {
            "kind": TEXT | says("The kind."),
            "upto": COUNT | says("How many of them may be deleted or replaced."),
            "reason": REASON,
        },
        until=UNTIL,
    )
    consent = fixed(
        {
            "code": TEXT | says("The rule."),
            "on": TEXT | says("Of which resources: a pattern of addresses, or a label."),
            "reason": REASON,
        },
        to=VALUE | says("The value consented to."),
        until=UNTIL,
        upto=CONFIG | says("How much may be lost at most."),
    )
    ignored = fixed(
        {"address": TEXT | says("An address, or a pattern."), "reason": REASON},
        path=TEXT | says("The field. A missing key: everything."),
        until=UNTIL,
    )
    return fixed(
        {
            "expect": CONFIG | says("As in the file."),
            "resources": _all(resource) | says("Every resource, parents first."),
            "removed": _all(removal) | says("As in the file."),
            "forget": ADDRESSES | says("As in the file."),
        },
        moved=_all(move) | says("As in the file."),
        guards=_all(guard) | says("As in the file."),
        allow=_all(consent) | says("As at the top level of the files."),
        ignore_drift=_all(ignored) | says("As in the file."),
    )


def _place() -> Schema:
    return fixed(
        {},
        account=TEXT | says("Name or public key of the account."),
        domain=TEXT | says("JetStream domain."),
        cluster=TEXT | says("Name of the cluster; empty for a single server."),
        id=TEXT | says("The random id in bucket `reconciler`."),
        server=TEXT | says("Id of the server that answered; it changes when the server restarts."),
        at=TEXT | says("When this was seen, by the server's clock."),
        bucket=TEXT | says("When bucket `reconciler` was created."),
        reached={"type": "integer"} | says("How many writes bucket `reconciler` has ever taken."),
        streams=CONFIG | says("The oldest streams with their creation times."),
    )


def _all(items: Schema) -> Schema:
    return {"type": "array", "items": items}
