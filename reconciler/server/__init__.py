"""The edge to NATS, in verbs: connect, read, run, remember, over the wire. It knows primitives, never kinds."""
