"""Helpers for Arrow tables and NumPy arrays that no stage owns."""
