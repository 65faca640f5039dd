"""Real servers, accounts and builders for the tests."""
