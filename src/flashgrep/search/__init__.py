"""Exact search: what a pattern means, which lines match it, and what an answer shows of them.

Its door: `pattern`, `result`, `highlight` and `decode`; `scan` has a door of its own. The index and
the terminal match by themselves and use the matchers too: `match_lines`, `match_count`,
`match_dense`.
"""
