"""What people ask about groups of both types: who works, where a key goes, what waits, and what is wrong.

These are pure answers about what was read; nothing here changes anything.
"""
