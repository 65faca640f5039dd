"""Reports as JSON, read back, and the schemas of both."""
