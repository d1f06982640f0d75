"""How long to wait for records: policies that decide the watermark, and the guard against times in the far future."""
