"""Desired × live × memory → plan: everything that is decided, without any I/O."""
