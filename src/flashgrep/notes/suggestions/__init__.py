"""Edits awaiting a decision, and comments. The door: `comment_plan`, `comments`, `outcomes`,
`pending`, `pending_table`, `propose`, `typed_marks`.

`plan` turns an edit into marks, `commented` opens the passage of a comment for one; `refusals` has
every reason why an edit is refused.
"""
