"""Answers a search from segments and what changed since.

The door is `indexed_search`, `match_pool`, `view`, and `search_worker`, which processes run.
"""
