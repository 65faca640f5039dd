"""Rules that several kinds share speak of each kind in its own word."""

from __future__ import annotations

from reconciler.kinds.buckets.object_store import OBJECT_STORE


def test_no_rule_calls_an_object_store_a_bucket() -> None:
    """One sentence is about the clients of both kinds."""
    texts = {
        rule.code: f"{rule.name} {rule.doc}".replace("KV buckets and object stores", "") for rule in OBJECT_STORE.rules
    }
    assert [code for code, text in texts.items() if "bucket" in text.lower()] == []
    assert {"object-store-deletion", "bad-object-store-name"} <= {rule.name for rule in OBJECT_STORE.rules}
