"""Accounts that other tools made, and those tools' own files: both become topologies whose plan is empty."""
