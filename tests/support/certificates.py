"""X.509 certificates for TLS tests, written by hand with Ed25519, so that nothing but Python is needed to make them."""

from __future__ import annotations

import base64
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nacl.signing import SigningKey

_ED25519 = bytes.fromhex("300506032b6570")  # AlgorithmIdentifier {1.3.101.112}


def _der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body)
    if size < 128:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, *parts)


def _oid(dotted: str) -> bytes:
    first, second, *rest = (int(part) for part in dotted.split("."))
    assert all(number < 128 for number in rest)
    return _der(0x06, bytes([first * 40 + second, *rest]))


def _name(common: str) -> bytes:
    return _sequence(_der(0x31, _sequence(_oid("2.5.4.3"), _der(0x0C, common.encode()))))


def _time(when: datetime) -> bytes:
    return _der(0x17, when.strftime("%y%m%d%H%M%SZ").encode())


def _extension(oid: str, value: bytes, *, critical: bool = False) -> bytes:
    return _sequence(_oid(oid), *([b"\x01\x01\xff"] if critical else []), _der(0x04, value))


def _host(name: str) -> bytes:
    try:
        return _der(0x87, ipaddress.ip_address(name).packed)
    except ValueError:
        return _der(0x82, name.encode())


def _pem(label: str, body: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(body).decode()}-----END {label}-----\n"


@dataclass(frozen=True, slots=True)
class Files:
    """A certificate and its key, as paths a server or a client can be given."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates for servers and clients; its own is `ca`."""

    def __init__(self, folder: Path, name: str = "Test Authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._name = name
        self._key = SigningKey.generate()
        self.ca = folder / "ca.pem"
        usage = _extension("2.5.29.15", bytes.fromhex("03020106"), critical=True)  # sign certificates and lists
        basic = _extension("2.5.29.19", _sequence(b"\x01\x01\xff"), critical=True)
        self.ca.write_text(_pem("CERTIFICATE", self._certificate(name, self._key, [basic, usage], days=(-1, 365))))

    def issue(self, name: str, hosts: Sequence[str] = (), *, days: tuple[int, int] = (-1, 30)) -> Files:
        """For a server or a client. `days`: valid from and until, counted from now."""
        key = SigningKey.generate()
        purposes = _sequence(_oid("1.3.6.1.5.5.7.3.1"), _oid("1.3.6.1.5.5.7.3.2"))
        extensions = [
            _extension("2.5.29.15", bytes.fromhex("03020780"), critical=True),
            _extension("2.5.29.37", purposes),
        ]
        if hosts:
            extensions.append(_extension("2.5.29.17", _sequence(*(_host(host) for host in hosts))))
        files = Files(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        files.cert.write_text(_pem("CERTIFICATE", self._certificate(name, key, extensions, days)))
        private = _sequence(b"\x02\x01\x00", _ED25519, _der(0x04, _der(0x04, bytes(key))))
        files.key.write_text(_pem("PRIVATE KEY", private))
        return files

    def _certificate(self, name: str, key: SigningKey, extensions: list[bytes], days: tuple[int, int]) -> bytes:
        public, own = bytes(key.verify_key), bytes(self._key.verify_key)
        identifiers = [
            _extension("2.5.29.14", _der(0x04, public[:20])),
            _extension("2.5.29.35", _sequence(_der(0x80, own[:20]))),
        ]
        valid = _sequence(*(_time(datetime.now(UTC) + timedelta(days=day)) for day in days))
        body = _sequence(
            _der(0xA0, b"\x02\x01\x02"),
            _der(0x02, b"\x01" + secrets.token_bytes(15)),
            _ED25519,
            _name(self._name),
            valid,
            _name(name),
            _sequence(_ED25519, _der(0x03, b"\x00" + public)),
            _der(0xA3, _sequence(*extensions, *identifiers)),
        )
        return _sequence(body, _ED25519, _der(0x03, b"\x00" + self._key.sign(body).signature))
