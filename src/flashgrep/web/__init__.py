"""Notes for people over HTTP: live editing, decisions on suggestions, and news. Door: `routes`."""
