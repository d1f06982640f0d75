"""Condensing: pre-aggregation in Spark - one row per key and pane goes to Python instead of every record."""
