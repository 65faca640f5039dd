"""What clients feel: publishers, readers and listeners."""
