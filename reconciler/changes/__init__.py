"""What a change is, and what can be said of it: fields that differ, rules and their verdicts, consent, kinds and
plans."""
