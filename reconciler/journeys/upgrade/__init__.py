"""What another server version would make of an account, or of files."""
