"""Resources → YAML, and edits of values in place."""
