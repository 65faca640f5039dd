"""Carrying a plan out on throw-away servers, and what clients experience there."""
