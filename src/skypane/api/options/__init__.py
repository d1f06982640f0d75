"""The options of a continuous query: one class for each step, and the table that declares every option."""
