"""Commands about files."""
