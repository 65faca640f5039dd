"""The command line as people run it: processes, exit codes, what goes to stdout and what to stderr."""
