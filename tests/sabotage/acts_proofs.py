"""The proofs themselves: what judges, draws and injects must fail when it no longer does."""

from __future__ import annotations

from tests.sabotage.act import Act

ACTS = (
    Act(
        name="pages of rules say what no server answered",
        file="tests/agreement/answered.py",
        before='"err_code": answer.err_code,',
        after='"err_code": answer.err_code + 1,',
        seen_by=("tests/agreement/test_measured.py::test_servers_answer_changes_as_the_pages_say[2.11]",),
    ),
    Act(
        name="pages of rules tell of a harm that no test saw",
        file="tests/agreement/test_harms_of_streams.py",
        before="{published - left} are deleted.",
        after="{published - left + 1} are deleted.",
        seen_by=("tests/agreement/test_harms_of_streams.py::test_a_lower_limit_removes_messages",),
    ),
    Act(
        name="a page of a rule keeps quiet about what its files do not say",
        file="tests/site/rules.py",
        before="if clauses := list(beside(one)):",
        after="if clauses := []:",
        seen_by=("tests/site/test_rule_examples.py::test_a_page_says_below_its_files_whatever_these_do_not_say",),
    ),
    Act(
        name="a page of a rule shows what no reader can play",
        file="tests/rules/examples.py",
        before="    return is_supported and not one.first_plan.blocked",
        after="    return True",
        seen_by=(
            "tests/site/test_rule_examples.py::test_a_case_that_no_reader_can_play_is_no_example_where_another_one_is",
        ),
    ),
    Act(
        name="an example of a page needs another server than it says",
        file="tests/rules/ST401.yaml",
        before='- case: batched publishing on 2.12\n  server: "2.12"',
        after="- case: batched publishing on 2.12",
        seen_by=("tests/site/test_rule_examples.py::test_a_reader_who_does_what_the_page_says_sees_its_code[ST401]",),
    ),
    Act(
        name="the judge of probes grants everything",
        file="tests/probes/judging.py",
        before="        certain = _taken(self.felt) - self.said.sides - self.said.gained",
        after="        certain = frozenset[Side]()",
        seen_by=("tests/probes/test_judging.py",),
    ),
    Act(
        name="the judge of probes hears no wolf",
        file="tests/probes/judging.py",
        before="        shown = sides(self.felt)",
        after="        shown = frozenset(Side)",
        seen_by=("tests/probes/test_judging.py",),
    ),
    Act(
        name="the judge of probes excuses whatever a consent would let through",
        file="tests/probes/saying.py",
        before="one.outcome is Outcome.REFUSED and not one.consentable",
        after="one.outcome is Outcome.REFUSED",
        seen_by=("tests/probes/test_judging.py",),
    ),
    Act(
        name="the two clients of a priority group are one",
        file="reconciler/testbed/probes/client.py",
        before="        return Client(self.nc, self._times)",
        after="        return self",
        seen_by=("tests/probes/test_battery.py",),
    ),
    Act(
        name="a probe gives up on what the server has sent already",
        file="reconciler/testbed/probes/client.py",
        before="            return None if arrived.empty() else arrived.get_nowait()",
        after="            return None",
        seen_by=("tests/probes/test_client.py",),
    ),
    Act(
        name="what comes to members again counts as new",
        file="tests/probes/members.py",
        before="(self.again if sequence in self.known else self.given)",
        after="self.given",
        seen_by=("tests/probes/test_members.py::test_what_is_in_flight_comes_again",),
    ),
    Act(
        name="direct gets through a mirror are not tried",
        file="reconciler/testbed/probes/scene.py",
        before="if stream not in by_stream and origin in by_stream else {}",
        after="if stream in by_stream and origin in by_stream else {}",
        seen_by=("tests/probes/test_battery.py",),
    ),
    Act(
        name="what clients lose counts as a relief",
        file="reconciler/testbed/probes/record.py",
        before="    return difference.before.startswith(FAILS) or",
        after="    return not difference.before.startswith(FAILS) or",
        seen_by=("tests/probes/test_judging.py",),
    ),
    Act(
        name="a rule is removed, and applying finds out: the storage of a stream",
        file="reconciler/kinds/stream/rules.py",
        before='*updatability_rules(FIELDS, FIXED, of="stream"),',
        after='*updatability_rules(FIELDS, {k: v for k, v in FIXED.items() if k != "storage"}, of="stream"),',
        seen_by=("tests/convergence/test_real.py::test_whatever_is_live_becomes_what_is_wanted[2.11]",),
    ),
    Act(
        name="no apply is hurt at any request",
        file="tests/faults/wire.py",
        before="        if self._wire.at == (request, Side.REQUEST) and not self._wire.was_reached:",
        after="        if self._wire.at == request and not self._wire.was_reached:",
        seen_by=("tests/faults/test_sample.py::test_an_apply_ends_well_whatever_goes_wrong_where[2.11]",),
    ),
    Act(
        name="what goes wrong is injected and does nothing",
        file="tests/faults/case.py",
        before="        return deeds.get(self.case.fault, self._nothing)",
        after="        return self._nothing if self.case.fault in deeds else self._depose",
        seen_by=("tests/faults/test_sample.py::test_an_apply_ends_well_whatever_goes_wrong_where[2.11]",),
    ),
    Act(
        name="nothing goes wrong at the point where something is to go wrong",
        file="tests/faults/wire.py",
        before="        if self._wire.at == (request, Side.REQUEST) and not self._wire.was_reached:",
        after="        if self._wire.at == request and not self._wire.was_reached:",
        seen_by=(
            "tests/server/test_asked_again.py::test_a_stream_that_this_run_has_made_is_there_whatever_a_server_says",
        ),
    ),
    Act(
        name="CI excuses a run that broke off",
        file="tests/support/twice.py",
        before="    if code != pytest.ExitCode.TESTS_FAILED:",
        after="    if code == 0:",
        seen_by=("tests/ci/test_twice.py",),
    ),
    Act(
        name="CI excuses a test that is red twice",
        file="tests/support/twice.py",
        before="        return again",
        after="        pass",
        seen_by=("tests/ci/test_twice.py",),
    ),
)
