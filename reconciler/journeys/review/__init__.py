"""Two revisions of the files compared without an account."""
