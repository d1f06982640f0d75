"""How long to wait for records, one policy a file."""
