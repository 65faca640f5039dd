"""The workload of the figures: streams with five consumers each, as YAML and as the requests a bare script would send."""

from __future__ import annotations

from collections.abc import Iterator

CONSUMERS = 5


def yaml(streams: int) -> str:
    """About 38 lines for each stream."""
    return "\n".join(["reconciler: 1", "topology: bench", "streams:", *_lines(streams)]) + "\n"


def _lines(streams: int) -> Iterator[str]:
    for number in range(streams):
        yield f"  S{number:05d}:"
        yield f'    subjects: [orders.{number}.>, "audit.{number}.x"]'
        yield "    max_age: 7d"
        yield "    max_bytes: 1MiB"
        yield "    description: a stream of the benchmark"
        yield "    metadata: {team: billing}"
        yield "    consumers:"
        for consumer in range(CONSUMERS):
            yield f"      c{consumer}:"
            yield f"        filter_subject: orders.{number}.{consumer}.>"
            yield "        ack_policy: explicit"
            yield "        ack_wait: 45s"
            yield "        max_deliver: 5"
            yield "        description: a consumer of the benchmark"


def requests(streams: int) -> tuple[list[tuple[str, dict[str, object]]], list[tuple[str, dict[str, object]]]]:
    """(API endpoint, body) of every stream, and of every consumer."""
    made = [_stream(number) for number in range(streams)]
    hung = [_consumer(number, consumer) for number in range(streams) for consumer in range(CONSUMERS)]
    return made, hung


def _stream(number: int) -> tuple[str, dict[str, object]]:
    name = f"S{number:05d}"
    return f"STREAM.CREATE.{name}", {
        "name": name, "subjects": [f"orders.{number}.>", f"audit.{number}.x"], "max_age": 7 * 86_400_000_000_000,
        "max_bytes": 1 << 20, "description": "a stream of the benchmark", "metadata": {"team": "billing"},
    }  # fmt: skip


def _consumer(number: int, consumer: int) -> tuple[str, dict[str, object]]:
    stream, name = f"S{number:05d}", f"c{consumer}"
    config = {
        "durable_name": name, "name": name, "filter_subject": f"orders.{number}.{consumer}.>", "ack_policy": "explicit",
        "ack_wait": 45_000_000_000, "max_deliver": 5, "description": "a consumer of the benchmark",
    }  # fmt: skip
    return f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "action": "create", "config": config}
