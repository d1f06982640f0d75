"""Peers: the same two jobs by other stream processors, each in an environment of its own."""
