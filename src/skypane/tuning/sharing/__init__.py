"""Which task of the window stage does which part: key groups, windows, joins."""
