"""What git knows about a tree, read from git's files, and its commits, listed by git itself.

The door is `repository`, `proof` and `log`.
"""
