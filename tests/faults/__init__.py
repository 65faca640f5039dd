"""An apply cut at every request and every reply, in every way we can think of: it ends well, and nothing is lost."""
