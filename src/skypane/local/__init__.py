"""The in-process engine: the same step as on Spark, without Spark."""
