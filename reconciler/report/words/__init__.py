"""Words, values and tables, safe for the place where they are shown."""
