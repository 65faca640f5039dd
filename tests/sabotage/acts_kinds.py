"""Fields, exports, files, and the groups that others share with us byte by byte."""

from __future__ import annotations

from tests.sabotage.act import Act, says

FIELDS = (
    Act(
        name="a bucket may be copied before it is made",
        file="reconciler/kinds/buckets/bucket_kind.py",
        before="needs=lambda resource: names(resource.config),",
        after="",
        seen_by=("tests/core/test_order.py::test_a_bucket_is_made_before_what_copies_it_by_its_streams_name",),
    ),
    Act(
        name="a field is dropped from a kind",
        file="reconciler/kinds/stream_config/stream_fields.py",
        before="    max_msg_size: Annotated[",
        after="    max_msg_sizes: Annotated[",
        seen_by=("tests/primitives/test_known.py",),
    ),
    Act(
        name="a key of the files does not say what updates may do",
        file="reconciler/documents/schema/descriptions.py",
        before='or info.updatability or ANY}."',
        after='or ANY}."',
        seen_by=("tests/documents/test_descriptions.py",),
    ),
    Act(
        name="a key of the files does not say which servers know it",
        file="reconciler/documents/schema/descriptions.py",
        before="    if info.since and info.since > SUPPORTED[0]:",
        after="    if info.since and info.since > SUPPORTED[-1]:",
        seen_by=("tests/documents/test_descriptions.py",),
    ),
    Act(
        name="a field is dropped from what is sent",
        file="reconciler/model/resource.py",
        before="        left = [name for name, one in self.filled.items() if name in config and config[name] == one.value]",
        after='        left = [name for name in config if name in self.filled or name == "max_age"]',
        seen_by=("tests/convergence/test_fake.py",),
    ),
    Act(
        name="a field is dropped from an export",
        file="reconciler/journeys/export/sections.py",
        before="    said = {name: value for name, value in rendered.items() if name in known}",
        after='    said = {name: value for name, value in rendered.items() if name in known and name != "max_deliver"}',
        seen_by=("tests/convergence/test_export.py::test_an_export_read_back_changes_nothing_and_adopts_all[2.11]",),
    ),
    Act(
        name="an object is left out of an export without a word",
        file="reconciler/journeys/export/sections.py",
        before="return sorted(address for address, found in self.live.items() if self._is_sayable(address, found))",
        after="return sorted(address for address, found in self.live.items() if self._is_sayable(address, found))[:-1]",
        seen_by=("tests/cli/test_export_into.py::test_each_owner_has_a_file_whose_plan_is_empty",),
    ),
    Act(
        name="an export forgets that something is protected",
        file="reconciler/journeys/export/export.py",
        before='{"protect": True} for address, record in records.items() if record.protected}',
        after='{"protect": True} for address, record in records.items() if not record}',
        seen_by=("tests/cli/test_export_into.py::test_each_owner_has_a_file_whose_plan_is_empty",),
    ),
    Act(
        name="a first file holds what others own",
        file="reconciler/journeys/export/first.py",
        before="    free = [one for one in held.chosen if one not in held.records]",
        after="    free = [*held.chosen]",
        seen_by=("tests/cli/test_init.py::test_what_nobody_owns_is_written_and_the_rest_left_to_its_owners",),
    ),
    Act(
        name="a first file is written over one that is there",
        file="reconciler/cli/files/init.py",
        before="    write({**files, **fresh}, fix=_ELSEWHERE)",
        after="    write({**files, **fresh}, overwrite=True, fix=_ELSEWHERE)",
        seen_by=("tests/cli/test_init.py::test_a_link_that_leads_nowhere_is_in_the_way_too",),
    ),
    Act(
        name="an account that could not be read passes for an empty one",
        file="reconciler/journeys/export/first.py",
        before="    if not held.chosen and (wrong := [one for one in held.left_out if one.is_error]):",
        after="    if not held.chosen and (wrong := []):",
        seen_by=("tests/cli/test_init.py::test_an_account_that_could_not_be_read_is_not_taken_for_an_empty_one",),
    ),
    Act(
        name="a limit of the server's own is taken for somebody's change",
        file="reconciler/model/resource.py",
        before="return isinstance(value, int) and 0 < value <= self.most",
        after="return isinstance(value, int) and self.most < value",
        seen_by=("tests/core/test_diff.py",),
    ),
    Act(
        name="the first backoff is not taken for the time to acknowledge",
        file="reconciler/kinds/consumer_config/consumer_settle.py",
        before='        config["ack_wait"] = config["backoff"][0]',
        after='        config["ack_wait"] = config["backoff"][-1]',
        seen_by=("tests/primitives/test_settle_consumers.py",),
        is_quick=True,
    ),
    Act(
        name="two subjects that collide go unseen",
        file="reconciler/kinds/across/subjects.py",
        before="            if other != name and collide(subject, theirs):",
        after="            if other != name and subject == theirs:",
        seen_by=(says("XX201"),),
    ),
)

FILES = (
    Act(
        name="a key that nobody knows is passed over",
        file="reconciler/model/resource.py",
        before='model_config = ConfigDict(frozen=True, extra="forbid",',
        after='model_config = ConfigDict(frozen=True, extra="ignore",',
        seen_by=("tests/documents/test_errors.py",),
    ),
    Act(
        name="of a key written twice the first counts, and nobody is told",
        file="reconciler/documents/read/tree.py",
        before="            self._duplicate(key, container.entries[key.text][0])  # type: ignore[union-attr]",
        after="            pass",
        seen_by=("tests/documents/test_traps.py",),
    ),
    Act(
        name="a day is not twenty-four hours",
        file="reconciler/model/units.py",
        before='"m": 60_000_000_000, "h": 3_600_000_000_000, "d": 86_400_000_000_000,',
        after='"m": 60_000_000_000, "h": 3_600_000_000_000, "d": 86_400_000_000,',
        seen_by=("tests/kinds/test_values.py",),
    ),
    Act(
        name="what is declared and removed at once is removed",
        file="reconciler/documents/read/load.py",
        before='            if there is not where and not (what == "forgotten" and address in elsewhere):',
        after="            if there is where:",
        seen_by=("tests/documents/test_files.py",),
    ),
    Act(
        name="an entry of `removed:` that names nothing passes for work that is done",
        file="reconciler/engine/misnamed.py",
        before="        if at in known.live or at in known.ledger or at in known.begun or at in remembered:",
        after="        if at not in known.live or at in known.ledger or at in known.begun or at in remembered:",
        seen_by=("tests/core/test_misnamed.py",),
    ),
    Act(
        name="`${name}` without a value stands for nothing, and nobody is told",
        file="reconciler/documents/read/values.py",
        before="            problems.append(_missing(name, values, _span(file, text, found)))\n",
        after="",
        seen_by=("tests/documents/test_values.py",),
    ),
)

GROUPS = (
    Act(
        name="the partition hash is off by one",
        file="reconciler/kinds/subjects/partitions.py",
        before="FNV_OFFSET, FNV_PRIME = 2166136261, 16777619",
        after="FNV_OFFSET, FNV_PRIME = 2166136261, 16777620",
        seen_by=("tests/primitives/test_partitions.py",),
        is_quick=True,
    ),
    Act(
        name="the number of partitions is off by one",
        file="reconciler/kinds/subjects/partitions.py",
        before="return fnv1a(hash_key(subject, pattern, wildcards).encode()) % partitions",
        after="return fnv1a(hash_key(subject, pattern, wildcards).encode()) % max(partitions - 1, 1)",
        seen_by=("tests/primitives/test_partitions.py",),
    ),
    Act(
        name="another wildcard decides the partition",
        file="reconciler/kinds/subjects/partitions.py",
        before="tokens[stars[number - 1] if number > 0 else 0]",
        after="tokens[stars[-number] if number > 0 else 0]",
        seen_by=("tests/primitives/test_partitions.py",),
    ),
    Act(
        name="a member's mapping is reversed",
        file="reconciler/kinds/subjects/partitions.py",
        before="    names = sorted(set(members), key=lambda name: name.encode())[: max(partitions, 0)]",
        after="    names = sorted(set(members), key=lambda name: name.encode(), reverse=True)[: max(partitions, 0)]",
        seen_by=("tests/primitives/test_partitions.py",),
    ),
    Act(
        name="a plan moves more partitions than it must",
        file="reconciler/kinds/subjects/partitions.py",
        before="    kept = {name: owned[name][: room[name]] for name in names}",
        after="    kept = {name: owned[name][: room[name] - 1] for name in names}",
        seen_by=("tests/primitives/test_partitions.py",),
    ),
    Act(
        name="messages queued on what stays are counted among what moves",
        file="reconciler/kinds/elastic_group/movement.py",
        before='        "messages_moved": None if queued is None else sum(queued[number] for number in moved),',
        after='        "messages_moved": None if queued is None else sum(queued),',
        seen_by=("tests/golden/test_golden.py::test_the_plan_as_json_is_as_expected[membership]",),
    ),
    Act(
        name="a group made anew begins behind what is in flight",
        file="reconciler/engine/bindings.py",
        before='        point = sourced(lowest, origin["name"])',
        after='        point = (sourced(lowest, origin["name"]) or 0) + 1',
        seen_by=("tests/probes/test_members.py::test_a_group_made_anew_loses_nothing[2.15]",),
    ),
    Act(
        name="a record of a group loses what we do not know of",
        file="reconciler/kinds/group_records/group_record.py",
        before="        if name not in MEMBERSHIP or name in membership\n",
        after='        if name in membership or name in ("max_members", "partitioning_filters", "filters")\n',
        seen_by=("tests/kinds/test_group_record.py",),
    ),
    Act(
        name="a record of a group says `[]` where Go says nothing",
        file="reconciler/kinds/group_records/group_record.py",
        before='    return {"members": list(config["members"])} if config.get("members") else {}',
        after='    return {"members": list(config.get("members") or ())}',
        seen_by=("tests/kinds/test_group_record.py",),
    ),
    Act(
        name="a group's queue takes in other subjects than the record says",
        file="reconciler/kinds/elastic_group/derived.py",
        before='    arguments = ",".join(map(str, (partitions, *item["partitioning_wildcards"])))',
        after='    arguments = ",".join(map(str, (partitions, *item["partitioning_wildcards"][::-1])))',
        seen_by=("tests/kinds/test_elastic_group.py",),
    ),
)

ACTS = (*FIELDS, *FILES, *GROUPS)
