"""What git knows of a tree, read from its files: no git process is started.

The door is `repository` and `proof`.
"""
