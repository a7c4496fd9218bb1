"""Lists suggestions, decides on them and undoes decisions. The door: `review`, `verdict`,
`decision_log`, `decision_jobs`."""
