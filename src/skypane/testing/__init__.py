"""For everybody who extends skypane: the laws that every query must keep, and semantics as transcripts."""
