"""Degrees that follow the load: controllers, damping, the loops around the steps."""
