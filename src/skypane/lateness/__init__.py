"""How long to wait for records: policies that decide the punctuation, and the guard against times in the far future."""
