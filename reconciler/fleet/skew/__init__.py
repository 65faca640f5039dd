"""How subjects spread over partitions and members."""
