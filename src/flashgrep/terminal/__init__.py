"""The commands for a person at a terminal; `cli` imports one by name when it is called.

The door: `groups`.
"""
