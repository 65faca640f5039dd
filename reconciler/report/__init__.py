"""Formats of plans and outcomes, one module each. A format turns data into text and prints nothing itself."""
