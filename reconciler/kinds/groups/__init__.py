"""What people ask about groups of both types: who works, where a key goes, what waits, what is wrong. Pure answers over
what was read; nothing here changes anything.
"""
