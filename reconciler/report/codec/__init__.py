"""Reports as JSON, read back from JSON, and the schemas of both."""
