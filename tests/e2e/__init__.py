"""The commands as people run them: processes against real servers, from the first plan to the worst day."""
