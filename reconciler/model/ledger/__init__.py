"""What is remembered in the account: entries of the KV bucket, records of owners, intents of runs."""
