"""What a change deletes, skips or leaves out: messages and positions, counted."""
