"""Readers of plans and outcomes, one module per format; each is data → text and prints nothing itself."""
