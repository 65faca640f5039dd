"""The least permissions that a user needs to plan or apply a topology."""
