"""What verbs work on: files, notes, and notes that another process owns.

`points` says where a mount hangs in a server, `remote` what goes to the owner of the notes; `files`
and `notes` are the mounts themselves, which `app` joins.
"""
