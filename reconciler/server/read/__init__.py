"""Reading what an account holds: every request here only reads."""
