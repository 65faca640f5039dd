"""Recognises files that are no topology, and names the command that reads them, where there is one."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from reconciler.documents.parse.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    error_at,
    listed,
    shape_in_words,
    span,
    start_of_block,
)
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.spelling import meant_choice

NACK = "jetstream.nats.io/"
OF_STREAMS = frozenset({"subjects", "retention", "storage", "num_replicas"})
OF_CONSUMERS = frozenset({"durable_name", "ack_policy", "deliver_policy"})
SAVED_PLAN = frozenset({"steps", "fingerprint"})
SHOWN = 3
ELSEWHERE = "keep it out of the topology's folder, or name the files to read"


def other_file_error(file: str, root: Node | None, own_keys: Collection[str]) -> Diagnostic | None:
    """Report such a file: one without any of `ours`, the keys at the top of a topology's files, and without a slip of
    one."""
    document = _first_document(root)
    if root is None or document is None or not document.entries:
        return None
    keys = document.entries.keys()
    if keys >= SAVED_PLAN:
        description, command = "a saved plan, not a topology", "apply"
    elif "targets" in keys and not keys & {*own_keys} - {"reconciler"}:
        description, command = (
            "a fleet file: it names accounts, while a topology says what one of them holds",
            "fleet plan",
        )
    elif keys & {*own_keys}:
        return None
    elif recognised := _recognise_jetstream(document):
        description, command = f"{recognised}, not a topology", "import"
    elif document is not root:
        return None
    elif recognised := _recognise_other_tool(document) or (
        None if any(meant_choice(key, own_keys) for key in keys) else _describe_keys(document)
    ):
        description, command = f"{recognised}, not a topology", ""
    else:
        return None
    advice = f"reconciler {command} {shlex.quote(file)}" if command else ELSEWHERE
    return error_at("XX524", "other-file", f"this is {description}", span(start_of_block(document)), fix=advice)


def errors_of_root(file: str, root: Node | None) -> list[Diagnostic]:
    """Complain of a file that holds nothing, or something else than keys with their values."""
    if root is None:
        start = SourceSpan(file, 1, 1, 1, 1)
        return [error_at("XX512", "yaml-documents", "this file is empty; remove it or fill it", start)]
    if isinstance(root, Mapping):
        return []
    message = f"the document is {shape_in_words(root)}; write a mapping (`topology: NAME`, `streams:` …)"
    return [error_at("XX504", "wrong-shape", message, span(root))]


def _first_document(root: Node | None) -> Mapping | None:
    """Take the first item of a list for the list."""
    node = root.items[0] if isinstance(root, Sequence) and root.items else root
    return node if isinstance(node, Mapping) else None


def _recognise_jetstream(document: Mapping) -> str | None:
    """Recognise what `reconciler import` reads."""
    keys = document.entries.keys()
    listed_items = document.get("items")
    first_item = _first_document(listed_items) if isinstance(listed_items, Sequence) else None
    if any(_text_of(manifest, "apiVersion").startswith(NACK) for manifest in (document, first_item) if manifest):
        return "a manifest of NACK"
    if "terraform_version" in keys:
        return "a Terraform state"
    config = document.get("config")
    if isinstance(config, Mapping) and config.entries.keys() & (OF_STREAMS | OF_CONSUMERS):
        return "the `nats` CLI's description of a stream or consumer"
    return "a stream's configuration for the `nats` CLI" if "name" in keys and keys & OF_STREAMS else None


def _recognise_other_tool(document: Mapping) -> str | None:
    keys = document.entries.keys()
    if {"apiVersion", "kind"} <= keys:
        return f"a Kubernetes manifest (kind {_text_of(document, 'kind')})"
    if {"jobs", "on"} <= keys:
        return "a GitHub workflow"
    return "a file for Docker Compose" if "services" in keys else None


def _describe_keys(document: Mapping) -> str:
    keys = document.entries.keys()
    more = " and others" if len(keys) > SHOWN else ""
    return f"a file with {listed(list(keys)[:SHOWN]).replace(' or ', ' and ')}{more}"


def _text_of(document: Mapping, key: str) -> str:
    node = document.get(key)
    return node.text if isinstance(node, Scalar) else ""
