"""What we need of the operating system, each in one place, and our own state on disk.

Never a user's file: those are opened by `workspace`.
"""
