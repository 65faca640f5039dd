"""The tables of the fleet, column by column, and where they are stored."""
