"""The engine: pure data and functions that know no kind, no YAML, no NATS and no Spark."""
