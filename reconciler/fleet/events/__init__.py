"""What servers report about themselves: advisories, audit events, acks, pins."""
