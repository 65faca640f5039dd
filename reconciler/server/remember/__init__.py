"""Bucket `reconciler` of the account: records, leases and the journal."""
