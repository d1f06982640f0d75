"""Who is in a live answer, and when: the skyline, the best k."""
