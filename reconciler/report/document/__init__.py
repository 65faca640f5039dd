"""What a report says, whatever its format: headline, changes, verdicts, findings, pictures."""
