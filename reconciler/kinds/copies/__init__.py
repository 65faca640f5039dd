"""Mirrors and sources among the other streams: what a copy needs, takes and loses."""
