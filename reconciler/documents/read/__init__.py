"""Nodes → resources: every problem of every file, at its line and column."""
