"""Duplicates: records whose id was accepted before, at a time that is near."""
