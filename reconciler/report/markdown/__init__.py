"""A report as one comment on a pull request."""
