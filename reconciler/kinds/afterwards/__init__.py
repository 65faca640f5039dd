"""The account as it will be once a plan is applied: its streams, what they store and reserve, and who reads them."""
