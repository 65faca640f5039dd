"""What people ask about partitioned consumer groups, and what they change in them."""
