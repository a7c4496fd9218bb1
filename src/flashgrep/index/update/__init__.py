"""Keeps the index up to date: builds, compacts, rescans, ranks.

The door is `tree_state` (what is known now), `updater` (the thread), `ranked_index` and `rescan`.
"""
