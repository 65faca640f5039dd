"""Reaching a server: the settings, the credentials, and why a connection failed."""
