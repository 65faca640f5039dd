"""The JSON Schema of a topology file."""
