"""What strayed from what was last applied, who did it, and both ways out of it."""
