"""House rules in CEL: what their conditions may mention, compiled once and judged beside the rules of the kinds."""
