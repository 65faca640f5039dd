"""Many accounts at once, on Spark: what they hold, what drifted, and how it developed, as DataFrames."""
