"""The content of a report in any format: headline, changes, verdicts, findings, pictures."""
