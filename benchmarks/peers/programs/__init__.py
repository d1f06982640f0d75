"""One program for each peer, run as ``python -m benchmarks.peers.programs.NAME JOB DATA OUT`` in its environment.

Each reads ``DATA/lanes/*.parquet`` (the records, in two lanes so that two can read) and ``DATA/campaigns/ads.parquet``,
writes ``OUT/*.csv`` and prints how long that took. Nothing of skypane is installed there.
"""
