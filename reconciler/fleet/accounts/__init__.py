"""Reading what many accounts hold, in parallel."""
