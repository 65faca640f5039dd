"""The record of a partitioned consumer group: its shape, its rules, and how it is written."""
