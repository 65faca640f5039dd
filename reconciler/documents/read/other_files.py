"""Recognises files that are no topology, and names the command that reads them, where there is one."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from reconciler.documents.read.complain import complain, listed
from reconciler.documents.read.nodes import Mapping, Node, Scalar, Sequence, first_of, shape_of, span
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.spelling import meant

NACK = "jetstream.nats.io/"
OF_STREAMS = frozenset({"subjects", "retention", "storage", "num_replicas"})
OF_CONSUMERS = frozenset({"durable_name", "ack_policy", "deliver_policy"})
SHOWN = 3
ELSEWHERE = "keep it out of the topology's folder, or name the files to read"


def other_file(file: str, root: Node | None, ours: Collection[str]) -> Diagnostic | None:
    """Report such a file: one without any of `ours`, the keys at the top of a topology's files, and without a slip of
    one."""
    document = _first(root)
    if root is None or document is None or not document.entries:
        return None
    keys = document.entries.keys()
    if "targets" in keys and not keys & {*ours} - {"reconciler"}:
        what, fix = "a fleet file: it names accounts, while a topology says what one of them holds", "fleet plan"
    elif keys & {*ours}:
        return None
    elif described := _of_jetstream(document):
        what, fix = f"{described}, not a topology", "import"
    elif document is not root:
        return None
    elif described := _of_others(document) or (None if any(meant(key, ours) for key in keys) else _unknown(document)):
        what, fix = f"{described}, not a topology", ""
    else:
        return None
    way = f"reconciler {fix} {shlex.quote(file)}" if fix else ELSEWHERE
    return complain("XX524", "other-file", f"this is {what}", span(first_of(document)), fix=way)


def unfit(file: str, root: Node | None) -> list[Diagnostic]:
    """Says so of a file that holds nothing, or something else than keys with their values."""
    if root is None:
        start = SourceSpan(file, 1, 1, 1, 1)
        return [complain("XX512", "yaml-documents", "this file is empty; remove it or fill it", start)]
    if isinstance(root, Mapping):
        return []
    message = f"the document is {shape_of(root)}; write a mapping (`topology: NAME`, `streams:` …)"
    return [complain("XX504", "wrong-shape", message, span(root))]


def _first(root: Node | None) -> Mapping | None:
    """Take the first item of a list for the list."""
    node = root.items[0] if isinstance(root, Sequence) and root.items else root
    return node if isinstance(node, Mapping) else None


def _of_jetstream(document: Mapping) -> str | None:
    """Recognise what `reconciler import` reads."""
    keys = document.entries.keys()
    items = document.get("items")
    inside = _first(items) if isinstance(items, Sequence) else None
    if any(_text(one, "apiVersion").startswith(NACK) for one in (document, inside) if one):
        return "a manifest of NACK"
    if "terraform_version" in keys:
        return "a Terraform state"
    config = document.get("config")
    if isinstance(config, Mapping) and config.entries.keys() & (OF_STREAMS | OF_CONSUMERS):
        return "the `nats` CLI's description of a stream or consumer"
    return "a stream's configuration for the `nats` CLI" if "name" in keys and keys & OF_STREAMS else None


def _of_others(document: Mapping) -> str | None:
    keys = document.entries.keys()
    if {"apiVersion", "kind"} <= keys:
        return f"a Kubernetes manifest (kind {_text(document, 'kind')})"
    if {"jobs", "on"} <= keys:
        return "a GitHub workflow"
    return "a file for Docker Compose" if "services" in keys else None


def _unknown(document: Mapping) -> str:
    keys = document.entries.keys()
    more = " and others" if len(keys) > SHOWN else ""
    return f"a file with {listed(list(keys)[:SHOWN]).replace(' or ', ' and ')}{more}"


def _text(document: Mapping, key: str) -> str:
    node = document.get(key)
    return node.text if isinstance(node, Scalar) else ""
