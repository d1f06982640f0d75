"""The two Spark jobs of a step, and who gets which records."""
