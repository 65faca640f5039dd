"""YAML text → nodes → resources, with every position."""
