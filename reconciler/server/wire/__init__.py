"""Requests and answers over one connection."""
