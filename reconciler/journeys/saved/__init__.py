"""Plans kept for later, and whether what they were made from still holds."""
