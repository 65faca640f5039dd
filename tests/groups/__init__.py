"""What `reconciler groups` says about real groups, whole and broken."""
