"""Writing accounts, and files of other tools, as YAML."""
