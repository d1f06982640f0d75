"""Who does which work."""
