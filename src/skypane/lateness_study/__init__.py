"""Compares lateness policies on one stream, with the real operators: what `skypane lateness` shows."""
