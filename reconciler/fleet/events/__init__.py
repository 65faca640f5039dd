"""What servers told about themselves: advisories, audit events, acks, pins."""
