"""Read the files and the account, compare them, and decide the plan. Looking changes nothing."""
