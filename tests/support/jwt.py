"""Operator mode for tests: an operator, one account with JetStream, and creds files for its users."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import nkeys  # type: ignore[import-untyped]  # it has no type hints


class Key:
    """An nkey pair of one role."""

    def __init__(self, role: int) -> None:
        self.seed = nkeys.encode_seed(os.urandom(32), role).decode()
        self._pair = nkeys.from_seed(bytearray(self.seed.encode()))
        self.public: str = self._pair.public_key.decode()

    @classmethod
    def user(cls) -> Key:
        return cls(nkeys.PREFIX_BYTE_USER)

    def sign(self, subject: str, name: str, claims: dict[str, Any], **top: Any) -> str:
        """A JWT about `subject`, issued by this key."""
        body = {"jti": name, "iat": int(time.time()), "iss": self.public, "name": name, "sub": subject, **top}
        text = f"{_part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_part({**body, 'nats': {**claims, 'version': 2}})}"
        return f"{text}.{_base64(self._pair.sign(text.encode()))}"


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def decorated(jwt: str, seed: str) -> str:
    """The text of a creds file."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


_STORED = ("mem_storage", "disk_storage", "streams", "consumer")
_UNLIMITED = (
    "subs",
    "data",
    "payload",
    "imports",
    "exports",
    "conn",
    "leaf",
    *_STORED,
)


class Operator:
    """Trusted by the server whose configuration is `config`."""

    def __init__(self, tiers: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """`tiers`: the account's limits by number of replicas, for example `{"R1": {"streams": 2}}`; -1 where left out."""
        self._tiers = {name: {**dict.fromkeys(_STORED, -1), **tier} for name, tier in (tiers or {}).items()}
        self._key = Key(nkeys.PREFIX_BYTE_OPERATOR)
        self._account = Key(nkeys.PREFIX_BYTE_ACCOUNT)
        self._system = Key(nkeys.PREFIX_BYTE_ACCOUNT)

    @property
    def config(self) -> str:
        operator = self._key.sign(self._key.public, "O", {"type": "operator"})
        jetstream: dict[str, Any] = {**dict.fromkeys(_UNLIMITED, -1), "wildcards": True}
        system = {**jetstream, "mem_storage": 0, "disk_storage": 0}
        if self._tiers:
            jetstream = {**jetstream, **dict.fromkeys(_STORED, 0), "tiered_limits": self._tiers}
        accounts = [self._preloaded(self._account, jetstream), self._preloaded(self._system, system)]
        preload = f"resolver_preload: {{ {', '.join(accounts)} }}"
        return f"operator: {operator}\nsystem_account: {self._system.public}\nresolver: MEMORY\n{preload}\n"

    def _preloaded(self, account: Key, limits: dict[str, Any]) -> str:
        return f"{account.public}: {self._key.sign(account.public, 'A', {'type': 'account', 'limits': limits})}"

    def user(
        self,
        key: Key,
        *,
        lasts: float | None = None,
        bearer: bool = False,
        hears: Sequence[str] | None = None,
        of_system: bool = False,
    ) -> str:
        """A user's JWT. `lasts`: seconds from now; `hears`: what alone he may subscribe to."""
        claims = {"type": "user", "subs": -1, "data": -1, "payload": -1, "bearer_token": bearer}
        claims |= {} if hears is None else {"sub": {"allow": [*hears]}}
        until = {"exp": int(time.time() + lasts)} if lasts is not None else {}
        return (self._system if of_system else self._account).sign(key.public, "U", claims, **until)

    def creds(self, *, lasts: float | None = None, hears: Sequence[str] | None = None, of_system: bool = False) -> str:
        """The text of a creds file of a new user."""
        key = Key.user()
        return decorated(self.user(key, lasts=lasts, hears=hears, of_system=of_system), key.seed)
