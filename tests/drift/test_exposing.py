"""Metrics under an address: how it is written, and that it answers there."""

from __future__ import annotations

from urllib.request import urlopen

import pytest

from reconciler.cli.drift.metrics_page import parse_address, serve_metrics
from reconciler.model.diagnostic import CannotContinue


@pytest.mark.parametrize(
    ("said", "meant"),
    [("127.0.0.1:9099", ("127.0.0.1", 9099)), (":9099", ("127.0.0.1", 9099)), ("[::1]:0", ("::1", 0))],
)
def test_a_host_and_a_port(said: str, meant: tuple[str, int]) -> None:
    assert parse_address(said) == meant


def test_an_ipv6_address_is_served_and_shown_in_brackets() -> None:
    """One that stands for 127.0.0.1, which a machine without any IPv6 address has as well."""
    with serve_metrics(parse_address("[::ffff:127.0.0.1]:0"), lambda: "up 1\n") as url:
        assert url.startswith("http://[::ffff:127.0.0.1]:")
        with urlopen(url.replace("[::ffff:127.0.0.1]", "127.0.0.1"), timeout=30) as answer:
            assert answer.read() == b"up 1\n"


@pytest.mark.parametrize("host", ["[2001:db8::1]", "a" * 70])
def test_where_nobody_can_listen_is_said_as_it_was_written(host: str) -> None:
    with (
        pytest.raises(CannotContinue, match="Cannot listen on") as problem,
        serve_metrics(parse_address(f"{host}:9099"), str),
    ):
        raise AssertionError("nothing stands there")
    assert f"Cannot listen on {host}:9099: " in str(problem.value)
