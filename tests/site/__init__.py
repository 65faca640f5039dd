"""The documentation: pages made from the program, and the proof that every example on every page runs."""
