"""Carrying out steps: check, send, verify."""
