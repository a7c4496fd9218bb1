"""Suggestions are listed, decided and undone. The door: `review`, `decide`,
`decision_log`, `decision_jobs`."""
