"""Edits that wait for a decision. The door: `propose`, `pending`, `typed_marks`.

`plan` turns an edit into marks; `refusals` has every reason why an edit is refused.
"""
