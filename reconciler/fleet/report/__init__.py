"""What the fleet commands found, part by part, and as JSON."""
