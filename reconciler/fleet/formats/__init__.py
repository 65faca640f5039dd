"""What a report about a fleet is made of, and its text, Markdown and HTML; nothing here knows an account."""
