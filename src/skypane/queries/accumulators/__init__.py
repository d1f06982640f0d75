"""Accumulators: one aggregate function each, as parts that merge in any order to the same result."""
