"""What clients experience when a configuration changes, beside what plans foretell of it."""
