"""A note as a Yjs document. The door: `note`, `loading`, `text`, `anchors`, `updates`.

`causality` decides which part of an update a document can take.
"""
