"""Which topologies stand where: in folders, and in revisions."""
