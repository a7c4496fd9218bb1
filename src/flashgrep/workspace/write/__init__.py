"""Writes the user's files, whole or not at all.

Its door: `replace` (one file), `intents` (several files together), `recovery` (after a kill).
"""
