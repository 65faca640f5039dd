"""Commands that explain, show and complete."""
