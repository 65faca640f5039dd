"""The least permissions of a user who plans or applies a topology."""
