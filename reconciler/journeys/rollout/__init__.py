"""One apply over many accounts, in stages: who is in which stage, and whether the next one begins."""
