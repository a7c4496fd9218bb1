"""What git knows of a tree, read from its files; what its commits say, from git itself.

The door is `repository`, `proof` and `log`.
"""
