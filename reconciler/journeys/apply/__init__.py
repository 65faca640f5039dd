"""A plan carried out: its turn, its last look, its backup, and what came of it."""
