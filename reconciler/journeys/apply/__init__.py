"""Carrying a plan out: the lease, the last look, the backup, and the outcome."""
