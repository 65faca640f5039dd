"""Files × account → plan: read, compared, judged. Looking changes nothing."""
