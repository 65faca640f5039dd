"""The command line: one module a command, each turning arguments into a workflow, a report and an exit code."""
