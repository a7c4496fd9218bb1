"""Edits that wait for a decision. The door: `outcomes`, `pending`, `pending_table`,
`propose`, `typed_marks`.

`plan` turns an edit into marks; `refusals` has every reason why an edit is refused.
"""
