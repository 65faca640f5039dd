"""The command line, one module a command. A command turns arguments into a journey, a report and an exit code."""
