"""Searches over the disk, in this process and in workers, and over texts in memory.

Its door: `scan` (the searcher), `texts`, `pool` (the workers) and `fair_queue` (whose turn it is).
The index also uses `scanner`, and starts `worker` with jobs of its own.
"""
