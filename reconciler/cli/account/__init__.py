"""Commands that plan for an account, or change it."""
