"""Questions about partitioned consumer groups, and changes to them."""
