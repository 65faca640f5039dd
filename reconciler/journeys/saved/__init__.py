"""Plans saved for later, and whether the account still matches what they were made from."""
