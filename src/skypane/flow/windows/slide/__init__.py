"""How panes become the answers of windows; strategies differ in cost, never in the answers."""
