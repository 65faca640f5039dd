"""Finding topologies, in folders and in revisions."""
