"""One key's live skyline on several virtual workers (paper 4): who owns a record, how bounds are joined, who waits."""
