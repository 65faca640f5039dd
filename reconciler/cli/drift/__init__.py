"""Commands about drift."""
