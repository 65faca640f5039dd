"""Agreement: our verdict equals the real server's answer, or is stricter on purpose; on every supported version."""
