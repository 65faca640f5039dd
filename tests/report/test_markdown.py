"""The comment on a pull request: in place of the last one, within GitHub's limit, and obeying nobody."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reconciler.changes.change import Action
from reconciler.model.code_pages import rule_url
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.report.document.document import Document
from reconciler.report.document.pieces import Aside, Fold, Folds, ReportPart
from reconciler.report.formats import FORMATS
from reconciler.report.markdown.gfm import code, prose
from reconciler.report.markdown.markdown import LIMIT
from reconciler.report.markdown.pieces import part_blocks, way_out_blocks
from tests.golden.test_formats import showcase
from tests.report.hostile import HUGE, TRICKS, every_piece, hostile, many
from tests.report.plans import create, everything, limit_lowered, plan, planned, policy_switch, update
from tests.rules.examples import example
from tests.rules.test_rules import verdicts

OURS = re.compile(
    r"<!-- reconciler:plan:[\w%.~-]* -->|<details( open)?><summary>|</summary>|</details>|<code>|</code>", re.ASCII
)


def said(document: Document) -> str:
    return FORMATS["markdown"](document)


def pieces(text: str) -> list[Token]:
    """Everything GitHub's Markdown would make of it, innermost first."""
    found = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        found += [token, *(token.children or ())]
    return found


def links(found: list[Token]) -> set[tuple[str, str]]:
    """Each with its text."""
    inline = pairwise(found)
    return {(text.content, str(one.attrs["href"])) for one, text in inline if one.type == "link_open"}


def test_every_code_that_stops_a_plan_is_a_link_to_its_page() -> None:
    assert links(pieces(said(Document(topology="orders", plan=everything())))) == {
        (code, rule_url(code)) for code in ("CO121", "ST301")
    }


def test_a_warning_about_an_object_that_changes_is_not_lost() -> None:
    dropped = Diagnostic(
        severity=Severity.WARNING, code="RV101", name="protection-dropped", address="stream/ORDERS", message="is open"
    )
    for form in ("markdown", "html"):
        document = Document(topology="orders", plan=plan(limit_lowered(), diagnostics=(dropped,)))
        assert FORMATS[form](document).count(rule_url("RV101")) == 1, form


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_nothing_that_others_wrote_becomes_markup(trick: str) -> None:
    found = pieces(said(hostile(trick)))
    assert {one.type for one in found} & {"image", "s_open", "hr", "em_open"} == set()
    assert links(found) <= {(code, rule_url(code)) for code in ("ST101", "ST302", "ST303", "ST601", "XX302")}
    kinds = Counter(one.type for one in found)
    assert (kinds["table_open"], kinds["tr_open"], kinds["td_open"]) == (3, 1 + 3 + 2 * 2, 3 * 5 + 2 * 2), (
        "the rows of what clients feel, of what was not shown, and of what was not tried"
    )
    assert {one.tag for one in found if one.type == "heading_open"} <= {"h3", "h4"}
    markup = "".join(one.content for one in found if one.type in ("html_inline", "html_block"))
    assert "<" not in OURS.sub("", markup)


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_nothing_in_a_piece_becomes_markup(trick: str) -> None:
    fold = Fold(mark="~", word="changed", name=trick, about=trick, place=trick, pieces=every_piece(trick))
    part = ReportPart(title="Parts", pieces=(Folds(folds=(fold,)), Aside(title="more", pieces=every_piece(trick))))
    found = pieces(said(Document(title="orders", parts=(part,))))
    assert {one.type for one in found} & {"image", "s_open", "hr", "em_open"} == set()
    assert links(found) == {("ST101", rule_url("ST101"))}
    markup = "".join(one.content for one in found if one.type in ("html_inline", "html_block"))
    assert "<" not in OURS.sub("", markup)


def test_what_a_comment_never_shows_is_no_part_of_it() -> None:
    hidden = Aside(title="Follows from these: 3", pieces=every_piece("x"), is_shown_in_text=False)
    assert [*part_blocks(ReportPart(title="Clients", pieces=(hidden,)))] == []


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_nobody_is_mentioned_and_nothing_is_linked(trick: str) -> None:
    """GitHub looks for these in whatever is not code, after Markdown is done."""
    texts = " ".join(one.content for one in pieces(said(hostile(trick))) if one.type == "text")
    assert re.findall(r"@\w|#\d|GH-\d|://|www\.", texts) == []


@pytest.mark.parametrize(
    "plan_",
    [plan(*(policy_switch(),)), plan(limit_lowered()), many(5_000), everything()],
    ids=["one", "two", "many", "all"],
)
def test_a_comment_always_fits(plan_: object) -> None:
    text = said(Document(topology="orders", plan=plan_, arguments="streams/"))  # type: ignore[arg-type]
    assert len(text.encode()) + text.count("\n") < LIMIT


def test_a_comment_of_many_bytes_for_each_character_fits_too() -> None:
    names = (f"stream/{'é世🌍' * 9}{n}" for n in range(3_000))
    changes = (update(name, *everything().changes[0].fields, reason=f"{n}") for n, name in enumerate(names))
    assert len(said(Document(topology="orders", plan=plan(*changes))).encode()) < LIMIT


def test_what_does_not_fit_is_counted_and_the_next_command_stays() -> None:
    text = said(Document(topology="orders", plan=many(5_000), arguments="streams/"))
    left = int(re.search(r"\*\*([\d_]+) more did not fit", text)[1].replace("_", ""))  # type: ignore[index]
    assert text.count("<details>") + left == 5_000
    assert text.endswith("`reconciler apply streams/`\n")


def test_what_is_cut_out_of_a_list_is_counted_by_the_resource() -> None:
    text = said(Document(topology="orders", plan=plan(*(create(f"stream/{'S' * 40}{n:05}") for n in range(2_000)))))
    left = int(re.search(r"\*\*([\d_]+) more did not fit", text)[1].replace("_", ""))  # type: ignore[index]
    assert text.count("- `+` `stream/S") + left == 2_000


@pytest.mark.parametrize("count", [2, 20, 200])
def test_several_reports_share_one_comment(count: int) -> None:
    text = FORMATS["markdown"].render_several([Document(topology=f"t{n}", plan=many(500)) for n in range(count)])
    assert len(text.encode()) + text.count("\n") < LIMIT
    assert "### Plan: orders" in text
    assert text.count("<details") == text.count("</details>")


def test_a_long_account_of_what_was_done_leaves_room_for_the_rest() -> None:
    text = said(Document(topology="orders", plan=many(10), outcome="failed: some step or other\n" * 9_000))
    assert len(text.encode()) < LIMIT
    assert "stream/S00009" in text


def test_what_is_cut_leaves_every_fold_closed() -> None:
    text = said(Document(topology="orders", plan=many(5_000)))
    assert text.count("<details") == text.count("</details>")
    assert len(re.findall("^```", text, re.MULTILINE)) % 2 == 0


def test_the_marker_is_the_same_for_every_plan_of_a_topology() -> None:
    markers = {said(Document(topology="orders", plan=one)).splitlines()[0] for one in (everything(), plan(kept=1))}
    assert markers == {"<!-- reconciler:plan:orders -->"}


def test_another_topology_has_another_marker_whatever_its_name() -> None:
    markers = {said(Document(topology=name)).splitlines()[0] for name in ("a b", "a%20b", "a-->b", "a")}
    assert len(markers) == 4
    assert all(re.fullmatch(r"<!-- reconciler:plan:[\w%-]+ -->", one) for one in markers)


def test_reviews_of_any_number_of_topologies_keep_one_comment() -> None:
    several = [Document(command="review", topology=name, plan=everything()) for name in "ab"]
    texts = [FORMATS["markdown"].render_several(few) for few in (several, several[:1], [Document(command="review")])]
    assert {text.splitlines()[0] for text in texts} == {"<!-- reconciler:review -->"}
    assert [text.count("<!--") for text in texts] == [1, 1, 1]


@pytest.mark.parametrize(
    ("code_", "span", "heading"),
    [
        ("NA101", None, "stopped before it began"),
        ("NA106", SourceSpan("a.yaml", 1, 1, 1, 1), "stopped before it began"),
        ("XX501", SourceSpan("a.yaml", 1, 1, 1, 1), "the files cannot be read"),
    ],
)
def test_files_are_blamed_only_where_they_are_wrong(code_: str, span: SourceSpan | None, heading: str) -> None:
    wrong = Diagnostic(severity=Severity.ERROR, code=code_, name="x", message="does not do", span=span)
    assert f"### Plan: {heading}\n" in said(Document(diagnostics=(wrong,)))


def test_refusals_come_before_quantities_and_those_before_folded_changes() -> None:
    text = said(Document(topology="orders", plan=everything()))
    headings = re.findall("^#### (.*)", text, re.MULTILINE)
    assert headings == ["What stops the plan", "Effects on messages and clients", "Changes"]
    assert text.index("CO121") < text.index("ST301") < text.index("6 of 12 partitions") < text.index("<details>")


@pytest.mark.parametrize("code_", ["XX110", "EG101"])
def test_steps_are_a_numbered_list_and_none_is_cut(code_: str) -> None:
    fixes = {verdict.fix or "" for verdict in verdicts(code_)}
    assert any("\n" in fix for fix in fixes)
    for fix in fixes:
        text = "\n".join(way_out_blocks(fix))
        items = [token for token in pieces(text) if token.type == "list_item_open"]
        assert len(items) == len(re.findall(r"^ *\d+\. ", fix, re.MULTILINE))
        assert not re.search(r"\\n|characters\)", text)


def test_a_plan_shows_all_steps_in_markdown_and_html() -> None:
    refused = example("XX110")
    steps = re.findall(r"^ *\d+\. (\w+)", refused.verdict.fix or "", re.MULTILINE)
    document = Document(topology="orders", plan=refused.plan)
    assert re.findall(r"^\d+\. `*(\w+)", said(document), re.MULTILINE) == steps
    page = FORMATS["html"](document)
    assert re.findall(r"<li>(\w+)", page.partition("<ol>")[2].partition("</ol>")[0]) == steps


def test_text_to_copy_stands_between_words() -> None:
    text = "\n".join(way_out_blocks("consent with a reason in the entry,\n  {from: a, to: b}\nor keep `a`"))
    assert text.split("\n") == [
        "", "Instead: consent with a reason in the entry,", "", "```yaml", "{from: a, to: b}", "```", "", "or keep `a`",
    ]  # fmt: skip


def test_what_stands_under_effects_or_worth_knowing_stands_there_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told, _, changes = said(showcase(tmp_path)).partition("#### Changes")
    items = [line for line in told.split("\n") if line.startswith("- `") or line.startswith("- **")]
    assert len(items) > 5
    assert [item for item in items if item.partition(": ")[2] in changes] == []


@pytest.mark.parametrize("fix", ["Write `max_age: 7d`", "Write `max_age: 7d`."])
def test_a_way_out_ends_in_one_full_stop(fix: str) -> None:
    wrong = Diagnostic(severity=Severity.ERROR, code="ST501", name="x", message="no", fix=fix)
    assert "Instead: Write `max_age: 7d`.\n" in said(Document(diagnostics=(wrong,)))


def test_eight_hundred_equal_changes_are_one() -> None:
    field = limit_lowered().fields[0]
    text = said(Document(plan=plan(*(update(f"stream/S{n:03}", field) for n in range(812)))))
    assert text.count("<details>") == 1
    assert "812 streams" in text
    assert "and 792 more" in text


def test_many_new_resources_are_folded_lists() -> None:
    text = said(Document(plan=plan(*(create(f"stream/S{n:03}") for n in range(120)))))
    assert text.count("<details>") == 3
    assert text.count("- `+` `stream/S") == 120


def test_what_is_unknown_is_said_with_what_stops_it() -> None:
    text = said(Document(plan=plan(planned("stream/FAR", Action.UNKNOWN, reason="server n3 did not answer"))))
    assert "- **unknown**: `stream/FAR`: Server n3 did not answer." in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("max_age cannot change", "`max_age` cannot change"),
        ("write priority_policy: pinned_client.", "write `priority_policy: pinned_client`."),
        ("ask @everyone, or see #12.", "ask `@everyone`, or see `#12`."),
        ("`orders.>` overlaps", "`orders.>` overlaps"),
        ("what is queued (up to a_b, or see c_d) now", "what is queued (up to `a_b`, or see `c_d`) now"),
        (
            "(change.fields is [max_msgs, max_age], before.max_msgs is 100)",
            "(change.fields is `[max_msgs, max_age]`, `before.max_msgs` is 100)",
        ),
        ("1_200_000 messages (40 GiB) go, 12%", "1_200_000 messages (40 GiB) go, 12%"),
        ("a ` alone", "a ' alone"),
        ("GH-12 www.example.org", "`GH-12 www.example.org`"),
        ("* - + # >", "\\* \\- + \\# \\>"),
        ("“quoted” isn’t – it's", "“quoted” isn’t – it's"),
    ],
)
def test_words_stay_words_and_all_else_is_code(text: str, shown: str) -> None:
    assert prose(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("a`b", "``a`b``"), ("`a", "`` `a ``"), ("", "` `"), (" a ", "`  a  `")])
def test_backticks_in_code_do_not_end_it(text: str, shown: str) -> None:
    assert code(text) == shown


def test_one_long_value_is_cut_and_its_length_said() -> None:
    assert f"({len(HUGE):_} characters)" in code(HUGE)
