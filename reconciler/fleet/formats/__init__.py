"""The pieces of a report about a fleet, and its text, Markdown and HTML; nothing here knows an account."""
