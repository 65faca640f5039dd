"""Why a connection failed, in words: which server, how far the attempt came, and what to do now."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, NamedTuple

from nats.errors import Error as NatsError

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.credentials import UserCredentials
from reconciler.server.connect.options import ConnectOptions, Server


class DialProgress(Enum):
    """How far an attempt came."""

    DIALLING = "no connection to the port"
    GREETING = "waiting for the server's greeting, or shaking hands before it"
    LOGIN = "greeted; encrypting and logging in"


class NoTls(NatsError):
    """TLS is wanted, but the server offers none; nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A failed attempt to reach one server."""

    server: Server
    stage: DialProgress
    error: BaseException
    seconds: float
    greeting: Mapping[str, Any] = field(default_factory=dict)
    """What the server said about itself, if it came to that."""


class _Reason(NamedTuple):
    code: str
    name: str
    why: str
    fix: str


_REACH = "Check the address and that a nats-server listens there; choose another with --server or --context."


def connection_error(
    options: ConnectOptions, attempts: Sequence[Attempt], login: UserCredentials | None
) -> CannotContinue:
    """Return one error for all servers tried; the one that came furthest decides its code and its advice."""
    reasons = [_reason_of(attempt, options, login) for attempt in attempts]
    furthest = max(reasons, key=lambda reason: _PROGRESS.index(reason.name))
    if len(attempts) == 1:
        failure = f"{_WHAT[furthest.name]} {options.where_text()}: {furthest.why}"
    else:
        each = "; ".join(f"{a.server.url}: {r.why}" for a, r in zip(attempts, reasons, strict=True))
        context = f" (context {options.context})" if options.context else ""
        failure = f"{_WHAT[furthest.name]} any of {len(attempts)} servers{context}: {each}"
    message = f"{failure}. Nothing was changed."
    return CannotContinue.because(furthest.code, furthest.name, message, fix=furthest.fix)


def early_end_error(options: ConnectOptions, error: NatsError) -> CannotContinue:
    """Return the error for a connection that ended before anything could be asked."""
    why = f"the connection ended as soon as it was made ({str(error).removeprefix('nats: ')})"
    message = f"{_WHAT['unreachable']} {options.where_text()}: {why}. Nothing was changed."
    return CannotContinue.because("NA101", "unreachable", message, fix=_REACH)


_PROGRESS = ("unreachable", "tls-failed", "login-refused")
_WHAT = {"unreachable": "Cannot reach", "tls-failed": "Cannot connect securely to", "login-refused": "Cannot log in to"}


def _reason_of(attempt: Attempt, options: ConnectOptions, login: UserCredentials | None) -> _Reason:
    error, stage = attempt.error, attempt.stage
    if isinstance(error, ssl.SSLError | NoTls):
        return _tls_reason(error, options)
    if stage is DialProgress.DIALLING:
        return _Reason("NA101", "unreachable", _dialling_failure_text(error, attempt, options), _REACH)
    if stage is DialProgress.GREETING:
        return _greeting_reason(error, attempt, options)
    if isinstance(error, NatsError):
        return _refusal_reason(str(error).removeprefix("nats: ").strip("'\" "), attempt, options, login)
    if attempt.greeting.get("tls_verify"):
        given = (
            f"did not accept the client certificate {options.cert}" if options.cert else "wants a client certificate"
        )
        return _Reason("NA103", "tls-failed", f"the server {given}", "Name one it knows: --tlscert and --tlskey.")
    return _Reason(
        "NA101", "unreachable", f"the connection broke while logging in{_after_seconds_text(attempt)}", _REACH
    )


def _dialling_failure_text(error: BaseException, attempt: Attempt, options: ConnectOptions) -> str:
    if isinstance(error, socket.gaierror):
        host = attempt.server.url.partition("://")[2].rpartition(":")[0]
        return f"the name `{host}` cannot be resolved"
    if isinstance(error, TimeoutError) and error.errno is None:
        return f"no answer{_after_seconds_text(attempt)} (--timeout is {options.timeout:g} s)"
    if isinstance(error, OSError):
        # A name with several addresses fails with all their errors in one text; the first number represents them.
        number = error.errno or next((int(n) for n in re.findall(r"\[Errno (\d+)\]", str(error))), 0)
        return f"{os.strerror(number).lower()}{_after_seconds_text(attempt)}"
    return f"{type(error).__name__}{_after_seconds_text(attempt)}"


def _greeting_reason(error: BaseException, attempt: Attempt, options: ConnectOptions) -> _Reason:
    if options.tls_first:
        fix = "Leave out --tlsfirst unless the server has `handshake_first`; name a certificate if it asks for one."
        return _Reason("NA103", "tls-failed", "the TLS handshake before its greeting failed", fix)
    silent = isinstance(error, TimeoutError)
    observation = (
        f"connected, but no greeting came within {attempt.seconds:.1f} s"
        if silent
        else "what answers there does not greet like a nats-server"
    )
    fix = "If the server expects TLS before its greeting, add --tlsfirst; otherwise check the port."
    return _Reason("NA101", "unreachable", observation, fix)


def _tls_reason(error: BaseException, options: ConnectOptions) -> _Reason:
    def failed(why: str, fix: str) -> _Reason:
        return _Reason("NA103", "tls-failed", why, fix)

    if isinstance(error, NoTls):
        return failed(
            "the server offers no TLS, so nothing was sent", "Use nats:// without TLS files, or turn TLS on there."
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not accepted: {error.verify_message.rstrip('.')}"
        return failed(why, "Name the authority that signed it with --tlsca, and use the host name of the certificate.")
    reason = getattr(error, "reason", None) or ""
    if "WRONG_VERSION" in reason or "UNKNOWN_PROTOCOL" in reason:
        return failed("it answers without TLS", "Leave out --tlsfirst unless the server has `handshake_first`.")
    if "ALERT" in reason:
        alert = reason.rpartition("ALERT_")[2].replace("_", " ").lower()
        offered = "our client certificate" if options.cert else "a connection without client certificate"
        return failed(f"the server does not accept {offered} ({alert})", "Name one it knows: --tlscert and --tlskey.")
    return failed(f"the handshake failed ({reason.replace('_', ' ').lower() or type(error).__name__})", _REACH)


def _refusal_reason(refusal: str, attempt: Attempt, options: ConnectOptions, login: UserCredentials | None) -> _Reason:
    who = _identity_given(attempt.server, options, login)
    fix = "Check the login and that it belongs to this server."
    if "maximum" in refusal.lower():
        return _Reason(
            "NA101", "unreachable", f"the server accepts no more connections ({refusal})", "Try again later."
        )
    if "timeout" in refusal.lower():
        why = f"the login took longer than the server allows ({refusal})"
        return _Reason("NA101", "unreachable", why, "Try again: this machine is busy, or the server is far away.")
    if who is None:
        return _Reason(
            "NA102",
            "login-refused",
            f"it asks for a login, but none was given ({refusal})",
            "Give --creds, --nkey, --user and --password, or --context.",
        )
    if login and login.expired_at:
        who = f"{who}, which expired on {login.expired_at:%Y-%m-%d %H:%M} UTC"
        fix = "Get new credentials from the operator of this account."
    return _Reason("NA102", "login-refused", f"the server refused {who} ({refusal})", fix)


def _identity_given(server: Server, options: ConnectOptions, login: UserCredentials | None) -> str | None:
    """Return the identity we gave, without any secret."""
    if login:
        return login.origin
    if options.nkey:
        return "the given nkey" if options.nkey.startswith("data:") else f"the nkey of {options.nkey}"
    user, password = (server.user, server.password) if server.user else (options.user, options.password)
    if user and password is not None:
        return f"user `{user}` with this password"
    return "the given token" if server.user or options.token else None


def _after_seconds_text(attempt: Attempt) -> str:
    return f" after {attempt.seconds:.1f} s"
