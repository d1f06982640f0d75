"""The query algebra: what a query keeps of a pane, how partials combine, what a window answers."""
