"""What became of suggestions, and what of that their authors were told.

    outcomes   author       whose suggestion it is…
               source       …and what kind of author (see `roles.AuthorKind`); NULL where that was
                            not recorded
               note         id of the note
               suggestion   its id
               made         when it was made, in milliseconds since 1970
               old, new     what it took away and what it brought when it was pending last
               decision     number of the decision that stands (see `decision_log`); NULL for none
               told         number of the decision that the author was told of last; NULL where the
                            author knows of none, or was told that it was undone
               withdrawn    1 where its author took it back, else 0

A row comes when a suggestion is pending no longer, for whatever reason, in the transaction that
ends it, and stays. One that is in `pending` again is pending, whatever its row says. An author is
to be told something where `decision` and `told` differ: so one that was undone before anybody
heard of it is never told, and one that was undone afterwards is told as undone.
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = """
CREATE TABLE outcomes (
    author TEXT NOT NULL, source TEXT, note TEXT NOT NULL, suggestion TEXT NOT NULL,
    made INTEGER NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, decision INTEGER, told INTEGER,
    withdrawn INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (author, note, suggestion)
) WITHOUT ROWID;
CREATE INDEX outcomes_by_author ON outcomes (author, made, suggestion);
CREATE INDEX outcomes_to_tell ON outcomes (author, note) WHERE decision IS NOT told;
"""

FROM_DECISIONS: Final = """
INSERT OR IGNORE INTO outcomes (author, source, note, suggestion, made, old, new, decision, told)
    SELECT
        coalesce(json_extract(record, '$.author'), ''),
        CASE WHEN json_extract(record, '$.typed') THEN 'person'
            WHEN json_type(record, '$.from') = 'text' THEN json_extract(record, '$.from') END,
        note, suggestion,
        CASE json_type(record, '$.time') WHEN 'integer' THEN json_extract(record, '$.time')
            ELSE 0 END,
        old, new, id, id
    FROM decisions WHERE undone_time IS NULL ORDER BY id DESC;
"""
"""The rows of decisions that were made before there was this table: nothing is told of them."""
