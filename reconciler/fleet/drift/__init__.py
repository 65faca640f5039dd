"""Live × declared → drift of every target, and how it came and went."""
