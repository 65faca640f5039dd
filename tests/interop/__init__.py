"""Groups shared with the reference implementation: each side reads, scales and deletes what the other made."""
