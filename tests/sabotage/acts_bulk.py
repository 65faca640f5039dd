"""One entry of `removed` or `forget` for many: what it never reaches, and how many it may."""

from __future__ import annotations

from tests.sabotage.act import Act

ACTS = (
    Act(
        name="an entry about many deletes more than its `upto`",
        file="reconciler/engine/pairing/removals.py",
        before="        if len(match.addresses) > match.entry.upto:",
        after="        if len(match.addresses) > 10 * match.entry.upto:",
        seen_by=("tests/core/test_bulk.py",),
        is_quick=True,
    ),
    Act(
        name="of an entry that matches too many, some go all the same",
        file="reconciler/engine/pairing/removals.py",
        before="match)) for address in match.addresses)",
        after="match)) for address in match.addresses[match.entry.upto :])",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="--only lifts `upto`",
        file="reconciler/engine/decide.py",
        before="        *view.refusals,",
        after="        *(one for one in view.refusals if not hidden),",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="an entry about many deletes what the files declare",
        file="reconciler/engine/pairing/removals.py",
        before="    named = {resource.address for resource in topology.resources} | {",
        after="    named = {",
        seen_by=("tests/core/test_bulk.py",),
        is_quick=True,
    ),
    Act(
        name="an entry about many deletes what the files declare as another kind",
        file="reconciler/engine/pairing/removals.py",
        before=" and registry.of(address).stream(address) not in streams:",
        after=":",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="an entry about many deletes what another topology owns",
        file="reconciler/engine/pairing/removals.py",
        before="        if owned.topology in owners and address",
        after="        if address",
        seen_by=("tests/core/test_bulk.py",),
        is_quick=True,
    ),
    Act(
        name="an entry about many deletes what nobody owns",
        file="reconciler/engine/compare.py",
        before="    matches = match_entries(topology, memory.records, owners",
        after="    kept = {a: Owned(topology=topology.name) for a in recognised_resources(snapshot, registry)}\n"
        "    matches = match_entries(topology, {**kept, **memory.records}, owners",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="what an entry names itself goes by another entry's pattern",
        file="reconciler/engine/pairing/removals.py",
        before=" | {forgotten.address for forgotten in topology.forget}",
        after="",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="what has another name now is deleted by the pattern of its old one",
        file="reconciler/engine/pairing/removals.py",
        before="    named |= {move.origin for move in topology.moved}\n",
        after="",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="what is to be deleted and given up at once is deleted",
        file="reconciler/engine/pairing/removals.py",
        before='        if match.entry.key == "removed":\n            in_both',
        after='        if match.entry.key == "forget":\n            in_both',
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="`until` of an entry about many is ignored",
        file="reconciler/model/resource.py",
        before="    return entry.until is not None and today > entry.until",
        after="    return False",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="a saved plan deletes what its entries match by now",
        file="reconciler/journeys/saved/saving.py",
        before="outlook=outlook(saved, now",
        after="outlook=outlook(replace(saved, plan=now), now",
        seen_by=("tests/e2e/test_bulk_removal.py",),
    ),
    Act(
        name="a saved plan forgets its entries about many",
        file="reconciler/journeys/saved/saved_plan.py",
        before="            bulk=topology.bulk,",
        after="            bulk=(),",
        seen_by=("tests/e2e/test_bulk_removal.py",),
    ),
    Act(
        name="a pattern whose work is done is called misspelt",
        file="reconciler/engine/pairing/misnamed.py",
        before="        elif any(entry.selects(address, {}) for address in gone):",
        after="        elif not any(entry.selects(address, {}) for address in gone) and not free:",
        seen_by=("tests/core/test_bulk.py",),
    ),
    Act(
        name="a review calls an entry misspelt that stood there before",
        file="reconciler/testbed/imagined.py",
        before="        done = {*removed_or_renamed_addresses(topology), *_bulk_examples(topology)}",
        after="        done = removed_or_renamed_addresses(topology)",
        seen_by=("tests/review/test_revisions.py", "tests/core/test_bulk.py"),
    ),
    Act(
        name="no printed permission lets a plan ask which servers a placement finds",
        file="reconciler/journeys/permissions/permissions.py",
        before=", *api.needs_to_ask(_peers_asked(possible))]",
        after="]",
        seen_by=("tests/permissions/test_every_step_is_foreseen.py",),
    ),
    Act(
        name="printed permissions do not let apply resume what somebody paused by hand",
        file="reconciler/journeys/permissions/permissions.py",
        before="    if is_resumed or may.replaced",
        after="    if may.replaced",
        seen_by=(
            "tests/permissions/test_printed_permissions.py::"
            "test_whoever_applies_may_resume_what_somebody_paused_by_hand",
        ),
    ),
    Act(
        name="a placement that is left as found is thought to be none by printed permissions",
        file="reconciler/journeys/permissions/permissions.py",
        before='if is_found else config.get("placement")',
        after='if False else config.get("placement")',
        seen_by=("tests/permissions/test_every_step_is_foreseen.py",),
    ),
    Act(
        name="a printed permission names only a part of what a pattern may delete",
        file="reconciler/journeys/permissions/permissions.py",
        before='tuple("*" if "*" in part else part for part in raw.on)',
        after="tuple(raw.on)",
        seen_by=("tests/permissions/test_every_step_is_foreseen.py", "tests/core/test_bulk.py"),
    ),
)
