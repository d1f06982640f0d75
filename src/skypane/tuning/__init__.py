"""Tuning: how fast answers come - plans, controllers, shares of work. Nothing here decides an answer."""
