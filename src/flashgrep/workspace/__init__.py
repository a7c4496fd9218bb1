"""The user's files: which are reachable, and how they are opened, listed, read and replaced.

Its door: `scope` (what may be reached, names on the wire), `safe_open`, `globs`, `find`, `text`
and `occurrences`; `write` has a door of its own. Searches and the index also use `walk` and
`ignore_rules`.
"""
