"""Controllers: numbers in, numbers out. They know nothing of what they control."""
