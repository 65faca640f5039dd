"""Who applied what and when, and what became of it."""
