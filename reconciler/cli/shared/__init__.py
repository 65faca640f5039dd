"""What several commands share: arguments, screens, formats, exit codes."""
