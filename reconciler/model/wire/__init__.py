"""What servers hold, what they can be asked, and what they can be told."""
