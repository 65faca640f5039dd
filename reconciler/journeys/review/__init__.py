"""Comparing two revisions of the files without an account."""
