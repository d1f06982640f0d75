"""The Spark adapter: sessions, jobs, checkpoints, sinks. The only folder that imports pyspark."""
