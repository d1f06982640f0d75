"""Users' functions: how they are called, what they return, how changed code is noticed."""
