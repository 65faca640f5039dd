"""One module per use case; the only place where edges are joined."""
