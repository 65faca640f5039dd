"""What drifted from the last apply, who did it, and the two ways to resolve it."""
