"""The algebra of subjects: what matches, overlaps, lies inside, is rewritten and divided."""
