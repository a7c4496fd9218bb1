"""Who may do what: roles on folders of notes (`roles`), and tokens that carry them (`tokens`)."""
