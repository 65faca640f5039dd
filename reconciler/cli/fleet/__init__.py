"""Commands over many accounts."""
