"""Accounts, and files of other tools, as YAML."""
