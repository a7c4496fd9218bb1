"""Narrows what a search must look at; never decides a match."""
