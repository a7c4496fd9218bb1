"""Searches files on disk, in worker processes."""
