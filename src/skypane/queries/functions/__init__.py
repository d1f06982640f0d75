"""Functions of the user's: how they are called, what they return, how they are told from changed ones."""
