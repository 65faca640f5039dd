"""Commands about partitioned consumer groups."""
