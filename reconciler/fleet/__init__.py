"""EDGE: Spark. Many accounts at once: what is live, what strayed, how it developed, as DataFrames."""
