"""Which live object is which declared one, by name, by identity, by `moved_from`, or by what a run before left."""
