"""The edge to NATS: connect, observe, execute, remember; and the embedded server. Knows primitives, never kinds."""
