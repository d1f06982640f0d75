"""How records become answers: what the pane stage hands over, and what the window stage makes of it."""
