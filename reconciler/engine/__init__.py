"""Desired × live × memory → plan: all decisions, without any I/O."""
