"""Documents and results as text: `numbered` lines, `passages` of a query, an open `source`."""
