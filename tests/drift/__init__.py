"""What counts as drift, who did it, and what is done about it."""
