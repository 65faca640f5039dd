"""What a user does, one file or folder each. Only here do files, servers and reports meet."""
