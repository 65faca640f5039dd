"""How to reach a server: what people said of it, credentials, and why no connection came about."""
