"""Which task of the pane stage gets which records: strategies, and their plan for a batch."""
