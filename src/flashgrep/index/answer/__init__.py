"""Answers a search from segments and from whatever changed since.

The door is `indexed_search`, `match_pool`, `view`, and `search_worker`, which processes run.
"""
