"""A consumer configuration: its fields and its canonical form."""
