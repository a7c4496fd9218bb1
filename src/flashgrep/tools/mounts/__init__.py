"""What verbs work on: files, notes, and notes that another process owns.

`points` attaches mounts to a server, `remote` sends calls to the owner of the notes; `files` and
`notes` are the mounts themselves, which `app` joins.
"""
