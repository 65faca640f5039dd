"""What was found out about many accounts, in every format: pieces first, then how each format shows a piece."""
