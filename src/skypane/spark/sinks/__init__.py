"""Sinks: where result, late and quarantined rows go."""
