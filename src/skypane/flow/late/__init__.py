"""Records that come after their pane was sealed: the past, harm, revisions."""
