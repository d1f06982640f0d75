"""Continuous preference queries and sliding-window analytics over late, out-of-order and bursty streams."""
