"""Suggestions as marks in a text: parsing and views."""
