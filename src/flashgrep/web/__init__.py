"""Notes for people: live editing, decisions on suggestions, and news of both, over HTTP."""
