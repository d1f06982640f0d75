"""The pane stage: admit records, cut them into panes, lift them into partials; then decide what they mean."""
