"""One module per command: arguments → workflow → report → exit code."""
