"""What an account holds: every request here is a read."""
