"""Trees of patterns in virtual time: each node a thread, each message a cost, as many cores as wanted.

The tree is the object that runs elsewhere: its :mod:`network <skypane.tuning.patterns.network>` is wired here
(:mod:`wiring`), a station for each node (:mod:`station`), whose functions (:mod:`sending`, :mod:`answering`) say what
goes where and what it takes (:mod:`prices`); a :mod:`floor` with cores and bounded queues runs them.
"""
