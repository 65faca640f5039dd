"""The edge to NATS, in verbs: connect, read, run, remember, over the wire. Knows primitives, never kinds."""
