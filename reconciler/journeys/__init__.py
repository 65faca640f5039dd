"""What a user does, one file or folder each; the only place where edges are joined."""
