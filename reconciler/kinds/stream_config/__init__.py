"""A stream configuration: fields, canonical form, what servers refuse in it, and how it is written."""
