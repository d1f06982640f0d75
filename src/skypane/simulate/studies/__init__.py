"""Studies: the real operators on a stream, in virtual time."""
