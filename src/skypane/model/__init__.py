"""Immutable nouns: windows, panes, groups, ledger, errors. Imports nothing of ours."""
