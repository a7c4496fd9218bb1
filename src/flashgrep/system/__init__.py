"""What we need of the operating system, each in one place, and our own state on disk.

Every module is a door: `atomic`, `lock`, `child`, `clock`, `idle`, `state`. None opens a user's
file: `workspace` does.
"""
