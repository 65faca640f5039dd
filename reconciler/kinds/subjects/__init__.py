"""The algebra of subjects: what matches, meets, lies inside, is rewritten and divided."""
