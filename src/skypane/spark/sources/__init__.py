"""Spark data sources: generated traffic and replayed files."""

from skypane.spark.sources.registration import register_sources

__all__ = ["register_sources"]
