"""What many accounts hold, read in parallel."""
