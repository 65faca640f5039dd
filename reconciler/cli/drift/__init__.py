"""Commands about what strayed."""
