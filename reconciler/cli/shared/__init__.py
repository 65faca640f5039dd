"""Shared by several commands: arguments, screens, formats, exit codes."""
