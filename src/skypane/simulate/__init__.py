"""The same operators without Spark: for tests, transcripts and studies."""
