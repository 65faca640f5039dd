"""Servers of our own, real or simulated: embedded ones, throw-away stages, and accounts that are only imagined."""
