"""What plans say in numbers beside what real servers do then: trimmed, skipped, missed, delivered again, moved."""
