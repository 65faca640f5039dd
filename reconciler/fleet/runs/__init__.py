"""What the fleet commands do, one module for each sort: what is read, which tables are kept, and what was found."""
