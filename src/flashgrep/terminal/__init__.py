"""The commands of a person at a terminal: one file each, each with its `command`."""
