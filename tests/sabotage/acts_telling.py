"""What reports say, and that nobody who wrote a name in an account can command whoever reads them; secrets; drift."""

from __future__ import annotations

from tests.sabotage.act import Act

FORMATS = (
    Act(
        name="an escape is removed: control characters reach the terminal",
        file="reconciler/report/words/visible.py",
        before="return text if text.isascii() and text.isprintable() else _OBEYED.sub(_written_out, text)",
        after="return text",
        seen_by=("tests/report/test_formats.py",),
    ),
    Act(
        name="an escape is removed: text turns the text around it",
        file="reconciler/report/words/visible.py",
        before="\\u200b-\\u200f\\u2028-\\u202e",
        after="\\u200b-\\u200f\\u2028-\\u2029",
        seen_by=("tests/report/test_formats.py",),
    ),
    Act(
        name="an escape is removed: a line of a report is a workflow command",
        file="reconciler/report/words/visible.py",
        before='return _COMMAND.sub(r"\\1\\\\::", text).replace("##[", "##\\\\[")',
        after='return text.replace("##[", "##\\\\[")',
        seen_by=("tests/report/test_formats.py",),
    ),
    Act(
        name="an escape is removed: a runner obeys `##[` within a line",
        file="reconciler/report/words/visible.py",
        before='.replace("##[", "##\\\\[")',
        after="",
        seen_by=("tests/report/test_formats.py",),
    ),
    Act(
        name="an escape in HTML is removed",
        file="reconciler/report/html/markup.py",
        before="Markup(html.escape(shortened(visible(text), MOST))",
        after="Markup(shortened(visible(text), MOST)",
        seen_by=("tests/report/test_html.py",),
    ),
    Act(
        name="the policy of the page lets any script run",
        file="reconciler/report/html/html.py",
        before="f\"script-src '{_digest(script)}'\",",
        after="\"script-src 'unsafe-inline'\",",
        seen_by=("tests/report/test_html.py",),
    ),
    Act(
        name="an escape in Markdown is removed: words",
        file="reconciler/report/markdown/gfm.py",
        before="        if word and not _is_plain(word):",
        after='        if word and word.startswith("`"):',
        seen_by=("tests/report/test_markdown.py",),
    ),
    Act(
        name="an escape in Markdown is removed: fences",
        file="reconciler/report/markdown/gfm.py",
        before='fence = "`" * max(3, longest + 1)',
        after='fence = "`" * max(3, longest)',
        seen_by=("tests/report/test_markdown.py",),
    ),
    Act(
        name="an escape in Markdown is removed: folds",
        file="reconciler/report/markdown/gfm.py",
        before="return html.escape(shortened(visible(text)))",
        after="return shortened(visible(text))",
        seen_by=("tests/report/test_markdown.py",),
    ),
    Act(
        name="an escape in JSON and SARIF is removed",
        file="reconciler/report/codec/json.py",
        before='return _ESCAPED.sub(lambda match: f"\\\\u{ord(match[0]):04x}", text)',
        after="return text",
        seen_by=("tests/report/test_formats.py",),
    ),
    Act(
        name="an escape in SARIF is removed: paths",
        file="reconciler/report/sarif.py",
        before='return {"uri": quote(file), "uriBaseId": _ROOT}',
        after='return {"uri": file, "uriBaseId": _ROOT}',
        seen_by=("tests/report/test_machines.py",),
    ),
    Act(
        name="an escape in annotations is removed: properties",
        file="reconciler/report/github.py",
        before='return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")',
        after="return _data(visible(text))",
        seen_by=("tests/report/test_machines.py",),
    ),
    Act(
        name="an escape in annotations is removed: ends of lines",
        file="reconciler/report/github.py",
        before='.replace("\\r", "%0D").replace("\\n", "%0A")',
        after="",
        seen_by=("tests/report/test_machines.py",),
    ),
    Act(
        name="an escape in JUnit is removed",
        file="reconciler/report/junit.py",
        before='return _NO_XML.sub("\\N{REPLACEMENT CHARACTER}", "\\n".join(lines))',
        after='return "\\n".join(lines)',
        seen_by=("tests/report/test_machines.py",),
    ),
    Act(
        name="an escape in metrics is removed",
        file="reconciler/journeys/drift/metrics.py",
        before='.replace(\'"\', \'\\\\"\').replace("\\n", "\\\\n")',
        after="",
        seen_by=("tests/drift/test_metrics.py",),
        is_quick=True,
    ),
    Act(
        name="an escape in printed permissions is removed",
        file="reconciler/journeys/permissions/text.py",
        before="    if character in '\"\\\\':",
        after="    if character in '\\\\':",
        seen_by=("tests/permissions/test_quoting.py",),
    ),
    Act(
        name="an escape in written YAML is removed: text that reads as a number",
        file="reconciler/documents/write/write.py",
        before="return resolve(text) == text and isinstance(resolve(text), str)",
        after="return bool(text)",
        seen_by=("tests/documents/test_write.py",),
    ),
    Act(
        name="the page is without its filter",
        file="reconciler/report/html/page.js",
        before="change.hidden = !fits;",
        after="change.hidden = false;",
        seen_by=("tests/browser/test_page.py::test_a_kind_of_change_is_chosen_with_the_keyboard",),
    ),
    Act(
        name="a report drops the changes that are refused",
        file="reconciler/report/document/entries.py",
        before="    for section in Section:",
        after="    for section in list(Section)[1:]:",
        seen_by=("tests/report/test_text.py",),
    ),
)

SECRETS = (
    Act(
        name="a redaction is removed: the login in a server's URL",
        file="reconciler/server/connect/settings.py",
        before='    return f"{scheme}{separator}{rest.rpartition(\'@\')[2]}" if separator else scheme.rpartition("@")[2]',
        after="    return url",
        seen_by=("tests/server/test_contexts.py",),
    ),
    Act(
        name="a redaction is removed: the login in a next command",
        file="reconciler/cli/shared/connecting.py",
        before='url = ",".join(map(without_login, said.url.split(","))) if said.url else None',
        after='url = said.url if without_login(said.url or "") else None',
        seen_by=("tests/cli/test_with_server.py::test_the_next_command_repeats_everything_but_the_login",),
    ),
    Act(
        name="a redaction is removed: a secret where its path belongs",
        file="reconciler/server/connect/secrets.py",
        before='return _TEXT.search(re.sub(r"(?i)^(env|file)://", "", value)) is not None',
        after="return not value",
        seen_by=("tests/server/test_connect.py::test_a_secret_in_place_of_a_path_is_not_repeated",),
    ),
    Act(
        name="a secret stands in fleet.yaml",
        file="reconciler/fleet/accounts/fleet_file.py",
        before='_REFERENCE = re.compile(r"(?i)(env|file)://.+")',
        after='_REFERENCE = re.compile(r".+")',
        seen_by=("tests/fleet/test_fleet_file.py",),
    ),
    Act(
        name="who was logged in stands in a saved plan",
        file="reconciler/journeys/saved/codec.py",
        before='target = {key: value for key, value in plan["target"].items() if key != "user"}',
        after='target = plan["target"]',
        seen_by=("tests/saved/test_saved_plans.py",),
    ),
    Act(
        name="a login is sent in clear where TLS is wanted",
        file="reconciler/server/connect/connection.py",
        before='            if self._needs_tls and not (info.get("tls_required") or info.get("tls_available")):',
        after="            if self._needs_tls and not info:",
        seen_by=("tests/server/test_connect.py::test_a_login_is_never_sent_in_clear_where_tls_is_wanted",),
    ),
)

DRIFT = (
    Act(
        name="a consumer is restored where it was applied to begin, whatever the file says since",
        file="reconciler/journeys/drift/restored.py",
        before="return {**applied, **{name: said[name] for name in starts if name in said}}",
        after="return dict(owned.applied)",
        seen_by=("tests/drift/test_restore.py::test_a_consumer_that_is_gone_comes_back_where_the_file_says_since",),
    ),
    Act(
        name="drift is blind for one kind",
        file="reconciler/journeys/drift/drift.py",
        before="if options.selects(a, c.terms.labels)}",
        after='if options.selects(a, c.terms.labels) and a.kind != "kv_bucket"}',
        seen_by=(
            "tests/faithful/test_faithful.py::test_a_copy_is_the_same_account_and_every_change_by_hand_is_named[2.11]",
        ),
    ),
    Act(
        name="what waits to be applied is told as drift",
        file="reconciler/journeys/drift/drift.py",
        before="moved = change.field_class in (FieldClass.DRIFTED, FieldClass.BOTH)",
        after="moved = change.field_class is not FieldClass.PLAIN",
        seen_by=("tests/drift/test_standing.py",),
    ),
    Act(
        name="a partial look passes for one without drift",
        file="reconciler/journeys/drift/drift.py",
        before="        if self.is_partial or any(one.is_error for one in self.diagnostics):",
        after="        if any(one.is_error for one in self.diagnostics):",
        seen_by=("tests/drift/test_report.py", "tests/drift/test_standing.py"),
    ),
    Act(
        name="what was made anew outside goes unseen",
        file="reconciler/engine/identity.py",
        before='    went_back = now["at"] < was["at"]',
        after='    went_back = now["at"] < 0',
        seen_by=("tests/drift/test_standing.py",),
    ),
    Act(
        name="`until` of `ignore_drift` is ignored",
        file="reconciler/journeys/drift/ignore.py",
        before="if rule.until and today > rule.until}",
        after="if rule.until and today > date.max}",
        seen_by=("tests/drift/test_ignoring.py",),
    ),
    Act(
        name="ignoring one field ignores the others",
        file="reconciler/journeys/drift/ignore.py",
        before='return path == wanted or path.startswith((f"{wanted}.", f"{wanted}[")) or fnmatchcase(path, wanted)',
        after="return bool(path)",
        seen_by=("tests/drift/test_ignoring.py",),
    ),
    Act(
        name="somebody is named on suspicion",
        file="reconciler/server/wire/audit.py",
        before="        elif held is UNKNOWN:",
        after="        elif held is None:",
        seen_by=("tests/drift/test_audit.py",),
    ),
    Act(
        name="the watcher is deaf",
        file="reconciler/server/read/listening.py",
        before="        self.stirred.set()\n        return True",
        after="        return True",
        seen_by=("tests/drift/test_watch.py::test_each_sort_of_change_is_told_when_it_is_made_with_who_made_it[2.15]",),
    ),
    Act(
        name="what someone else manages is said to be put back by `drift --restore`",
        file="reconciler/journeys/drift/drift.py",
        before="is_ours=standing is not Standing.FOREIGN and not _is_managed_elsewhere(change),",
        after="is_ours=standing is not Standing.FOREIGN,",
        seen_by=("tests/drift/test_restore.py::test_what_someone_else_manages_is_not_for_us_to_put_back",),
    ),
    Act(
        name="drift alone tells that somebody made an object anew, and the plan does not",
        file="reconciler/engine/decide.py",
        before="(change.reason, change.made_anew)",
        after="(change.reason,)",
        seen_by=("tests/drift/test_restore.py::test_plan_and_drift_tell_alike_of_what_was_made_anew",),
    ),
    Act(
        name="going back also takes back what nobody minds",
        file="reconciler/journeys/drift/restored.py",
        before="        if one.counts:\n",
        after="        if one.path:\n",
        seen_by=("tests/drift/test_restore.py::test_what_nobody_minds_stays_as_it_is",),
    ),
    Act(
        name="a permission is not printed that looking for drift takes",
        file="reconciler/journeys/permissions/permissions.py",
        before="    publish = [*api.looking()]",
        after="    publish = [*api.looking()][1:]",
        seen_by=(
            "tests/permissions/test_looking_for_drift.py::test_whoever_has_them_sees_what_an_admin_sees_and_uses_all_of_them",
        ),
    ),
)

HELP = (
    Act(
        name="a command ends with a code that its help does not name",
        file="reconciler/cli/account/adopt.py",
        before='@app.command(name="adopt", epilog=exits.named(exits.REFUSED))',
        after='@app.command(name="adopt")',
        seen_by=("tests/cli/test_adopt.py",),
    ),
)
ACTS = (*FORMATS, *SECRETS, *DRIFT, *HELP)
