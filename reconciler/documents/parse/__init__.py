"""YAML text → nodes → plain values, each with its place."""
