"""Suggestions are listed, decided and undone. The door: `review`, `verdict`,
`decision_log`, `decision_jobs`."""
