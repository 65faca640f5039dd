"""Resources → YAML, and edits of values where they stand."""
