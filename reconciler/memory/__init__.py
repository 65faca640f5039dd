"""What reconciler remembers in the account, as data: who owns what, leases, and the journal of runs."""
