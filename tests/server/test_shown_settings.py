"""What is shown of a login: where its file is, and never a secret."""

from __future__ import annotations

import pytest

from reconciler.server.connect.settings import shown_path, shown_servers


@pytest.mark.parametrize(
    ("servers", "shown"),
    [
        (None, ""),
        ("nats://a:4222,tls://b", "nats://a:4222,tls://b"),
        ("nats://app:s3cret@a:4222,b", "nats://…@a:4222,b"),
        ("s3cret@a", "…@a"),
        ("nats://app:p@ss@a, nats://t0ken@b", "nats://…@a,nats://…@b"),
    ],
)
def test_a_login_in_a_server_is_hidden(servers: str | None, shown: str) -> None:
    assert shown_servers(servers) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ("/keys/me@work/ci.creds", "/keys/me@work/ci.creds"),
        ("env://CI_CREDS", "env://CI_CREDS"),
        ("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY", "…"),
        ("-----BEGIN NATS USER JWT-----\nx", "…"),
    ],
)
def test_a_secret_in_the_place_of_its_file_is_hidden(value: str | None, shown: str) -> None:
    assert shown_path(value) == shown
