"""Keeps the index up to date: builds, compacts, rescans."""
