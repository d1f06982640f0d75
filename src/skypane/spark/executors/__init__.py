"""Executors follow degrees: asked for and released by us, by Spark, or not at all."""
