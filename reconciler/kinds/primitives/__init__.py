"""What several kinds are made of: stream and consumer configurations as data, subjects, partitions, values."""
