"""Files of other tools, read as what a server would hold: `nats` CLI output and backups, Terraform states, NACK
manifests."""
