"""What policies promise, broken."""

from __future__ import annotations

from tests.sabotage.act import Act

CONDITIONS, EVERYWHERE = ("tests/policies/test_conditions.py",), ("tests/policies/test_policies.py",)

ACTS = (
    Act(
        name="a policy with a field that no source has is first noticed when it is judged",
        file="reconciler/policies/policies.py",
        before="(*slips_in_items(condition, known_variables), *slips",
        after="(*[], *slips",
        seen_by=("tests/policies/test_conditions.py",),
    ),
    Act(
        name="a policy with a broken pattern is first noticed when it is judged",
        file="reconciler/policies/policies.py",
        before=", *slips_in_texts(condition, _why_it_fails)):",
        after=",):",
        seen_by=("tests/policies/test_conditions.py",),
    ),
    Act(
        name="a label in brackets that is not there counts as a violation",
        file="reconciler/policies/policies.py",
        before="    if (judged := without_brackets(condition, known_variables)) != condition:\n",
        after="    if (judged := condition) != condition:\n",
        seen_by=("tests/policies/test_conditions.py",),
    ),
    Act(
        name="a field that a source leaves out counts as a violation",
        file="reconciler/policies/variables.py",
        before="return [_complete_item(nested, item) for item in items]",
        after="return [dict(item) for item in items]",
        seen_by=("tests/policies/test_conditions.py",),
    ),
    Act(
        name="a pull request weakens a policy, and its review says nothing",
        file="reconciler/journeys/review/loosened_policies.py",
        before="        if weakening and _terms(was.policy) not in terms:\n",
        after="        if weakening and not terms:\n",
        seen_by=("tests/review/test_revisions.py",),
    ),
    Act(
        name="a review does not judge with a policy as it was",
        file="reconciler/journeys/review/loosened_policies.py",
        before="_refusals([was], view).items()",
        after="_refusals([], view).items()",
        seen_by=("tests/review/test_revisions.py",),
    ),
    Act(
        name="policies are not judged beside the rules",
        file="reconciler/engine/judging.py",
        before="            verdicts += view.policies.judge(final, view, needing)",
        after="            view.policies.judge(final, view, needing)",
        seen_by=EVERYWHERE,
    ),
    Act(
        name="a policy that cannot tell is taken for one that is kept",
        file="reconciler/policies/policies.py",
        before="    if is_known and result is False:",
        after="    if not is_known or result is False:",
        seen_by=CONDITIONS,
    ),
    Act(
        name="a violation of one policy hides behind a failure of another",
        file="reconciler/policies/policies.py",
        before="    except RuntimeError:  # such as: too many iterations\n        return False",
        after="    except RuntimeError:  # such as: too many iterations\n        return True",
        seen_by=CONDITIONS,
    ),
    Act(
        name="a waiver of a policy needs no end",
        file="reconciler/model/resource.py",
        before="        if until is None and len(",
        after="        if False and len(",
        seen_by=EVERYWHERE,
    ),
    Act(
        name="an option of the command line waives a policy",
        file="reconciler/engine/decide.py",
        before=" and fnmatchcase(verdict.address, pattern) and not is_policy(code)",
        after=" and fnmatchcase(verdict.address, pattern)",
        seen_by=EVERYWHERE,
    ),
    Act(
        name="labels are not remembered",
        file="reconciler/engine/decide.py",
        before="        labels=change.desired.terms.labels,\n",
        after="",
        seen_by=EVERYWHERE,
    ),
    Act(
        name="conditions about changes are judged where no change is known",
        file="reconciler/policies/policies.py",
        before="isinstance(program, Program) and program.needs() <= available",
        after="isinstance(program, Program)",
        seen_by=CONDITIONS,
    ),
    Act(
        name="a validation without an account knows no waivers",
        file="reconciler/journeys/plan/validate.py",
        before="if not _is_waived(verdict, view.changes[address], view)",
        after="if True",
        seen_by=EVERYWHERE,
    ),
    Act(
        name="a waiver of production is to be removed because dev does not need it",
        file="reconciler/changes/view.py",
        before="        return bool(self.environment) and entry not in self.own_entries",
        after="        return False",
        seen_by=("tests/policies/test_policies.py",),
    ),
    Act(
        name="CI sees no case of a policy that passed",
        file="reconciler/report/junit.py",
        before="    for check in document.checks:",
        after="    for check in ():",
        seen_by=("tests/policies/test_policies.py::test_every_case_is_a_test_case_for_ci_whether_or_not_it_passes",),
    ),
    Act(
        name="a policy that never forbids anything, for its text is never there, is taken as it is",
        file="reconciler/policies/texts.py",
        before="        if name in possible and text not in possible[name]:",
        after="        if name in possible and not possible[name]:",
        seen_by=("tests/policies/test_conditions.py",),
        is_quick=True,
    ),
    Act(
        name="nobody is told that no case proves what a policy forbids",
        file="reconciler/journeys/policies.py",
        before="    if lacking:",
        after="    if len(lacking) > 1:",
        seen_by=("tests/policies/test_policies.py",),
    ),
    Act(
        name="a file of policies that two topologies share counts twice",
        file="reconciler/documents/find/policies.py",
        before="place = replace(span, file=os.path.realpath(span.file)) if span else None",
        after="place = span or object()",
        seen_by=("tests/policies/test_policies.py",),
    ),
    Act(
        name="a file in a folder of policies is left out where it has a slip in its key",
        file="reconciler/documents/find/policies.py",
        before="and not (may_lack and _is_topology_file(root, registry)):",
        after="and not may_lack:",
        seen_by=("tests/policies/test_policies.py",),
    ),
    Act(
        name="policies of another commit are read",
        file="reconciler/documents/find/policies.py",
        before="    return GitTree.at(revision, cache)",
        after='    return GitTree.at("FETCH_HEAD", cache)',
        seen_by=EVERYWHERE,
    ),
    Act(
        name="a note about many is repeated for each",
        file="reconciler/documents/fill/filling.py",
        before='        if note and note not in notes.split("; "):',
        after="        if note:",
        seen_by=("tests/documents/test_for_each.py",),
    ),
    Act(
        name="a cancelled read leaves questions behind",
        file="reconciler/server/read/observe.py",
        before="        return await asyncio.gather(*map(counted, questions))",
        after="        made = [ask(one) for one in questions]\n\n        async def awaited(one: Awaitable[T]) -> T:\n"
        "            return await one\n\n        return await asyncio.gather(*map(awaited, made))",
        seen_by=("tests/server/test_many_questions.py",),
    ),
    Act(
        name="the action installs a release without what its policies need",
        file=".github/actions/reconciler/requirement.sh",
        before='echo "nats-reconciler$extras==$version"',
        after='echo "nats-reconciler==$version"',
        seen_by=("tests/ci/test_requirement.py",),
    ),
    Act(
        name="the package of somebody else is named beside an address",
        file="examples/ci/pre-commit-config.yaml",
        before='additional_dependencies: ["nats-reconciler==0.1.0"]',
        after='additional_dependencies: ["reconciler @ git+https://example-org.example/reconciler@v0.1.0"]',
        seen_by=(
            "tests/ci/test_workflows.py::test_nobody_is_told_to_install_the_package_that_has_our_name_on_the_index",
        ),
    ),
)
