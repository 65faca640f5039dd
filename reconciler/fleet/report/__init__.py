"""What the fleet commands found, as text, Markdown, HTML and JSON."""
