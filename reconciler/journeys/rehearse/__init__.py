"""A plan carried out on throw-away servers, and what clients feel of it there."""
