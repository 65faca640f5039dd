"""A stream configuration: its fields, its canonical form, what servers refuse in it, and how it is written."""
