"""Reads credentials: creds files, nkey seeds, tokens and TLS files, wherever they are kept.

They are read here and early, because nats-py loops forever on a creds file without a JWT, and because a message should
say which file is wrong and why, and never what is in it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import ssl
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.connect.settings import is_literal_secret

_DECORATED = r"-----+BEGIN {}-----+\s+(\S+)\s+-----+END"
_JWT = re.compile(_DECORATED.format("NATS USER JWT"))
_SEED = re.compile(_DECORATED.format("USER NKEY SEED"))
_BARE_JWT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")
_BARE_SEED = re.compile(r"^\s*(S[A-Z2-7]{10,})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCredentials:
    """A user's JWT and the seed that signs for it; a bearer JWT needs no seed."""

    jwt: str = field(repr=False)
    seed: str | None = field(repr=False)
    origin: str
    """For messages: where they were read."""

    @property
    def expired_at(self) -> datetime | None:
        """Return when they expired by the local clock; only the server's clock decides."""
        expiry = _claims(self.jwt).get("exp")
        when = datetime.fromtimestamp(expiry, UTC) if isinstance(expiry, int) and expiry else None
        return when if when and when <= datetime.now(UTC) else None


def user_credentials(options: ConnectOptions) -> UserCredentials | None:
    """Read credentials from a creds file, or from a JWT and a seed given separately."""
    if options.creds:
        text, origin = _read_reference(options.creds, "creds")
        jwt, seed = _JWT.search(text), _SEED.search(text)
        if jwt is None or seed is None:
            raise _unusable(origin, f"it holds no {'user JWT' if jwt is None else 'user nkey seed'}")
        return UserCredentials(jwt=_checked_jwt(jwt[1], origin), seed=_checked_seed(seed[1], origin), origin=origin)
    if not options.jwt:
        return None
    jwt_text, seed_text = resolved_secret(options.jwt, "the user JWT"), resolved_secret(options.seed, "the user seed")
    seed_checked = _checked_seed(seed_text, "the user seed") if seed_text else None
    return UserCredentials(jwt=_checked_jwt(jwt_text or "", "the user JWT"), seed=seed_checked, origin="the user JWT")


def nkey_seed(options: ConnectOptions) -> tuple[str, str] | None:
    """Return the seed, and where it was read."""
    if not options.nkey:
        return None
    text, origin = _read_reference(options.nkey, "nkey")
    match = _SEED.search(text) or _BARE_SEED.search(text)
    if match is None:
        raise _unusable(origin, "it holds no nkey seed")
    return _checked_seed(match[1], origin), origin


def resolved_secret(value: str | None, name: str) -> str | None:
    """Return a password or token: the text itself, or what a reference leads to."""
    if value is None or not re.match(r"(?i)(file|env|op|nsc)://|data:", value):
        return value
    return _read_reference(value, name)[0].rstrip("\r\n")


def tls_context(options: ConnectOptions) -> ssl.SSLContext:
    """Return a TLS context that trusts the named authority, or the machine's, and shows the named certificate."""
    for name, path in (("authority", options.ca), ("client certificate", options.cert), ("client key", options.key)):
        _refuse_literal_secret(path, name, _TLS_FIX)
    try:
        context = ssl.create_default_context(cafile=options.ca)
    except (OSError, ssl.SSLError) as error:
        raise _unusable(
            f"authority file {options.ca}", _reason_of(error, "it holds no certificate"), _TLS_FIX
        ) from None
    if options.cert:
        files = " and ".join(file for file in (options.cert, options.key) if file)
        try:
            context.load_cert_chain(options.cert, options.key, password=_refuse_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            reason = _reason_of(error, "certificate and key do not match, or one of them is not PEM")
            raise _unusable(f"client certificate {files}", reason, _TLS_FIX) from None
    return context


def _refuse_password() -> str:
    """Refuse an encrypted key; without this OpenSSL would ask on the terminal and wait."""
    raise ValueError("the key is encrypted with a passphrase, which is not supported")


def _read_reference(reference: str, kind: str) -> tuple[str, str]:
    """Return the text behind a reference, and describe its place."""
    scheme, _, rest = reference.partition(":")
    match scheme.lower():
        case "env":
            name = rest.removeprefix("//")
            return _read_variable(name, kind), f"{kind} in variable {name}"
        case "data":
            return _read_inline(rest, kind), f"{kind} given inline"
        case "op" | "nsc":
            raise _unusable(kind, f"references with {scheme.lower()}:// are not supported")
        case "file":
            return _read_file(rest.removeprefix("//"), kind)
    return _read_file(reference, kind)


def _read_file(path: str, kind: str) -> tuple[str, str]:
    _refuse_literal_secret(path, kind, _REFERENCE_FIX)
    origin = f"{kind} file {path}"
    try:
        return Path(path).read_text(encoding="utf-8"), origin
    except (OSError, ValueError) as error:
        raise _unusable(origin, _reason_of(error, "it is not text")) from None


def _refuse_literal_secret(reference: str | None, kind: str, fix: str) -> None:
    """Refuse a secret in place of its reference: a message names the file or variable, and here the name would be the
    secret."""
    if reference and is_literal_secret(reference):
        raise _unusable(kind, "it is the secret itself, where a path belongs", fix)


def _read_variable(name: str, kind: str) -> str:
    _refuse_literal_secret(name, kind, _REFERENCE_FIX)
    if not os.environ.get(name):
        raise _unusable(kind, f"the variable {name} is not set")
    return os.environ[name]


def _read_inline(rest: str, kind: str) -> str:
    header, _, payload = rest.partition(",")
    try:
        text = base64.b64decode(payload, validate=True).decode()
    except (ValueError, binascii.Error):
        text = ""
    if not text or "base64" not in header.split(";"):
        raise _unusable(f"{kind} given inline", "write data:;base64, and then base64 text")
    return text


def _checked_seed(seed: str, origin: str) -> str:
    """Check a seed: nkeys raises a different exception for every kind of failure, and all mean that it is no seed."""
    import nkeys  # type: ignore[import-untyped]  # noqa: PLC0415 - without type hints; brings libsodium, few need it

    written = seed.strip().encode()
    try:
        prefix, raw = nkeys.decode_seed(bytearray(written))
        same = nkeys.encode_seed(bytes(raw[:32]), prefix) == written  # nkeys itself does not check the checksum
    except (nkeys.NkeysError, ValueError, TypeError, IndexError):
        same = False
    if not same:
        raise _unusable(origin, "its nkey seed is damaged")
    if prefix != nkeys.PREFIX_BYTE_USER:
        raise _unusable(origin, "its nkey seed does not belong to a user")
    return seed.strip()


def _checked_jwt(jwt: str, origin: str) -> str:
    if not _BARE_JWT.fullmatch(jwt.strip()) or not _claims(jwt):
        raise _unusable(origin, "its user JWT is damaged")
    return jwt.strip()


def _claims(jwt: str) -> dict[str, object]:
    try:
        payload = jwt.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, IndexError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _reason_of(error: Exception, otherwise: str) -> str:
    if isinstance(error, ssl.SSLError):
        return otherwise
    if isinstance(error, OSError):
        return (error.strerror or otherwise).lower()
    return otherwise if isinstance(error, UnicodeDecodeError) else str(error)


_FIX = "Correct it, or log in another way: --creds, --nkey, --user and --password, --context."
_REFERENCE_FIX = "Name a file that holds it, or a variable as env://NAME."
_TLS_FIX = "Correct the path or the file: --tlsca, --tlscert, --tlskey."


def _unusable(subject: str, why: str, fix: str = _FIX) -> CannotContinue:
    message = f"{subject[0].upper()}{subject[1:]} cannot be used: {why}. Nothing was changed."
    return CannotContinue.because("NA105", "credentials-unusable", message, fix=fix)
