"""What changes cost: messages, positions, and what clients feel."""
