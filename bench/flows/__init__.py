"""The ways that four real calls take through the running program; `make flows` draws them."""
