"""Notes from and to folders of files. The door: `exporting` and `vault`, for the terminal.

`administration` has the owner's side: `importing`, `note_file` and `carried_suggestions`.
"""
