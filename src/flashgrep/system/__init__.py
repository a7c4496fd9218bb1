"""What we need from the operating system, each thing in one place, and our own state on disk.

Every module is a door: `atomic`, `lock`, `child`, `clock`, `idle`, `state`. None opens a user's
file: `workspace` does.
"""
