"""Strategies that only the simulator runs: they need workers that take work while records wait."""
