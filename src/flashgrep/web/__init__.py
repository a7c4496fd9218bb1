"""Pages for people, and notes over HTTP: live editing, decisions, news. Door: `site`."""
