"""What is known about a field: unit, default, version, effects, and how values are compared and shown."""
