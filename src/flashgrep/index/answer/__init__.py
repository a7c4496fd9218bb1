"""Answers a search from segments and what changed since."""
