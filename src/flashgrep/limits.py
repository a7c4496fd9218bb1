"""The limits a user can meet, each with its unit and reason, and sizes that several folders share.

Constants that only tune a loop are beside that loop.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

# ── messages ────────────────────────────────────────────────────────────────────────────────────
MESSAGE_BYTES: Final = 4 * MIB
"""Largest inbound message on any transport: the SDK's own figure for HTTP, applied everywhere."""

JSON_DEPTH: Final = 64
"""Deepest nesting of an inbound message; our schemas need five."""

HEADER_BYTES: Final = 64 * KIB
"""Largest HTTP request head."""

HEADER_SECONDS: Final = 10.0
"""A request head must be complete in this time, or half-sent requests pile up."""

BODY_SECONDS: Final = 30.0
"""A request body must be complete in this time."""

LINE_SECONDS: Final = 30.0
"""A socket line, once begun, must end in this time."""

CONNECTIONS: Final = 256
"""Open connections per listener; the next one replaces the longest idle one that never sent a
message, or is closed at once if there is none."""

JSON_NODES: Final = 100_000
"""Values in one inbound message: 4 MiB of `[]` would grow to 90 MiB of Python objects."""

BATCH_MESSAGES: Final = 100
"""Messages in a JSON-RPC batch; its answers are held until the last one is ready."""

REQUESTS_IN_FLIGHT: Final = 256
"""Unanswered requests per connection; the next one is read when an answer has gone out."""

SOCKET_DRAIN_SECONDS: Final = 5.0
"""After its last line, a peer on a socket waits this long for the answers to its requests."""

SHUTDOWN_SECONDS: Final = 1.0
"""After SIGTERM, open calls and HTTP exchanges have this long."""

# ── answers ─────────────────────────────────────────────────────────────────────────────────────
OUTPUT_CHARS: Final = 45_000
"""Default budget of a tool answer: Claude Code shows 50,000 characters whole, and replaces 70,000
by a file and a preview, in which the line that says how to continue is lost."""

HINTED_OUTPUT_CHARS: Final = 100_000
"""The same for a client that honours RESULT_SIZE_CHARS, and for tools that carry it."""

RESULT_SIZE_CHARS: Final = 150_000
"""The answer size that the file tools announce to clients: the budget, plus room for what else a
client counts (JSON escapes, the envelope)."""

PAGE_CHARS: Final = 2_000_000
"""The same for the search page: a thousand matches with some lines around them."""

PAGE_MATCHES: Final = 1_000
"""Most matching lines in one answer to the search page, which asks for the next when it is read."""

PAGE_CONTEXT: Final = 20
"""Most lines around a match there; the file itself is a click away."""

PAGE_NAMES: Final = 1_000
"""Most file names in one answer to a page; nobody reads more, and another letter helps."""

PAGE_LINES: Final = 2_000
"""Most lines of a file in one answer to a page."""

SHOWN_LINE_CHARS: Final = 2_000
"""A longer line is cut in view and grep: one minified line would fill the answer."""

MATCH_WINDOW_CHARS: Final = 500
"""What grep shows before, of, and after the first match of a line that is cut."""

READ_LINES: Final = 2_000
"""Lines a read returns when no limit is given, as Claude Code's does."""

PATH_CHARS: Final = 32_768
"""Longest path argument; deeper trees exist, but no agent names them in one call."""

SNIPPET_CONTEXT: Final = 4
"""Lines shown before and after a replacement."""

SNIPPET_LINES: Final = 60
"""Lines of the snippet an edit returns; the caller knows what it wrote."""

LISTED_LINES: Final = 10
"""Line numbers a refusal or confirmation names before it says how many more there are."""

QUOTED_CHARS: Final = 1_000
"""A refusal repeats this much of a string that was not found."""

REFUSAL_CHARS: Final = 4_000
"""Longest refusal: more than this is a value that it quotes, and a message may be 4 MiB."""

TOKEN_CHARS: Final = 4
"""Characters that max_tokens counts as one token: about what tokenizers make of code."""

# ── files ───────────────────────────────────────────────────────────────────────────────────────
FILE_BYTES: Final = 10 * MIB
"""Default of --max-file-size: view, read, images, writes."""

SNIFF_BYTES: Final = 512
"""What the MIME sniffing standard looks at."""

MULTILINE_BYTES: Final = 256 * MIB
"""A larger file is skipped in multiline, and the answer says so: the pattern needs it in memory."""

IGNORE_FILE_BYTES: Final = 4 * MIB
"""A larger .gitignore is ignored; git itself stops at 100 MiB."""

CHUNK_BYTES: Final = 256 * KIB
"""Files are read, copied and compared in pieces of this size."""

LOCK_SECONDS: Final = 5.0
"""Waiting for another server's lock on a file; another program may hold one forever."""

BATCH_OPERATIONS: Final = 1_000
"""Operations of one batch_write_code: far above any refactoring an agent spells out."""

OPERATION_ID_CHARS: Final = 100
"""Longest id of an operation, which the answer repeats."""

BATCH_FILE_BYTES: Final = 128 * MIB
"""Old and new bytes of one batch together: all of them are held until the last file is written."""

SKILL_BYTES: Final = 64 * KIB
"""Largest --skill-file: it goes whole into a model's context."""

# ── search ──────────────────────────────────────────────────────────────────────────────────────

DENSE_STEP: Final = 512 * KIB
"""Bytes processed in one go, during which no other thread of ours runs."""

WINDOW_BYTES: Final = 1 * MIB
"""Larger files are matched in windows of this size, cut at line ends."""

HOLE_BYTES: Final = 16 * GIB
"""A sparse file with more holes than this is skipped, and the answer says so: a scan would take
hours."""

SLICE_SECONDS: Final = 0.06
"""…or this long, so that both cores stay busy and a cancelled call stops quickly."""

PATTERN_CHARS: Final = 10_000
"""Longest pattern."""

PATTERN_STEPS: Final = 60_000
"""Most steps of a compiled pattern: `.{1000}` has 8,000, `\\pL{40}` 48,000. Compiling these takes
40 ms and 10 MB; RE2 itself would allow ten times that."""

RE2_BYTES: Final = 16 * MIB
"""RE2's budget for a compiled pattern and its cached states."""

REMEMBERED_PATTERNS: Final = 8
"""Compiled patterns kept for the next call: each may take RE2's whole budget."""

GLOB_CHARS: Final = 4_096
"""Longest glob; Linux takes no longer path in one call either."""

GLOB_PATTERNS: Final = 1_000
"""Most globs in one list; braces can join as many as anyone needs."""

GLOB_LIST_CHARS: Final = 20_000
"""Characters of all globs in one list: these take 0.2 s to compile, 4 MB of braces took 19."""

GLOB_NESTING: Final = 32
"""Deepest braces in a glob: far above any real one, far below Python's own recursion."""

PROGRESS_SECONDS: Final = 1.0
"""Work that lasts longer reports progress, if the caller asked for it."""

# ── index ───────────────────────────────────────────────────────────────────────────────────────
INDEXED_FILE_BYTES: Final = 64 * MIB
"""A larger file is not copied into the index; every search reads it from disk instead."""

BUILDERS: Final = 4
"""Processes that build at once: each takes some 300 MB, whatever the number of cores."""

# ── ranking and symbols ─────────────────────────────────────────────────────────────────────────
QUERY_CHARS: Final = 10_000
"""Longest text of a query; a question has a few words, a pasted error message about a hundred."""

QUERY_WORDS: Final = 32
"""Words of a query that count; each costs some 150 lookups."""

QUERY_FILES: Final = 500
"""Files a query ranks: more rarely help, a better question does."""

PASSAGE_LINES: Final = 60
"""Lines of a passage: a screen; a longer function is shown from its beginning."""

PREVIEW_LINES: Final = 3
"""Matching lines a result shows, before context."""

PREVIEW_CHARS: Final = 200
"""Most characters of each of these lines."""

QUERY_CONTEXT: Final = 50
"""Most lines of context around a preview line; get_slice reads more."""

SYMBOL_CHARS: Final = 1_000
"""Longest symbol name; the longest known identifiers are mangled ones of a few hundred."""

SYMBOL_FILES: Final = 60
"""Files parsed for the definitions of one symbol, starting with the likeliest."""

SYMBOL_LINES: Final = 50_000
"""Lines that name a symbol and are searched for its definition; with more, the answer says that it
is incomplete."""

SYMBOL_SECONDS: Final = 2.0
"""Parsing one file may take this long; a good one takes a tenth of it."""

SYMBOL_FILE_BYTES: Final = 1 * MIB
"""A larger file is not parsed, and the answer says so: tree-sitter takes a second for 3 MB."""

INDEX_WAIT_SECONDS: Final = 20.0
"""A search waits this long while the tree is compared with an earlier server's index; then it
scans. Scanning sooner takes longer: it would compete with the listing, which a scan needs too."""

# ── knowledge base ──────────────────────────────────────────────────────────────────────────────
NOTE_BYTES: Final = 4 * MIB
"""Text of one note: a long book has two; every peer that opens a note gets all of it."""

UPDATE_BYTES: Final = 8 * MIB
"""One update of a peer; a note typed letter by letter is many times larger than its text."""

NOTE_PATH_BYTES: Final = 1_024
"""Path of a note; an export must have room for it below any directory."""

NOTE_NAME_BYTES: Final = 255
"""One name in such a path, as file systems have it."""

LISTED_SUGGESTIONS: Final = 100
"""Suggestions or decisions on a page, if no limit is given."""

LISTED_SUGGESTIONS_MOST: Final = 1_000
"""Most of them on a page."""

CONTEXT_CHARS: Final = 200
"""How much of a note a list shows before and after a suggestion."""

COMMENT_CHARS: Final = 10_000
"""Longest comment: five pages. Anything longer should be a note."""

LISTED_COMMENTS: Final = 10_000
"""Open comments, replies included, in one list; the answer says if there are more."""

REASON_CHARS: Final = 1_000
"""The reason why a suggestion is rejected: agents get all of it."""

ACCEPTED_TEXT_CHARS: Final = 100_000
"""A text that replaces a suggested one; an undo looks for each of its characters."""

DECISIONS_AT_ONCE: Final = 500
"""Suggestions in one request to decide that is answered when all are decided (0.2 s)…"""

DECISIONS_A_JOB: Final = 20_000
"""…and in one that is answered at once with a job: their ids, and what was seen of each, are
a message of 1.5 MB."""

DECISION_JOBS: Final = 4
"""Jobs that run at once; they take turns on the thread of the notes."""

DECISION_JOBS_KEPT: Final = 16
"""Finished jobs that can be asked about and undone: 20,000 numbers each, for all callers."""

DECISION_JOBS_EACH: Final = 2
"""Jobs of one token at once: nobody takes all places."""

REPLACED_OCCURRENCES: Final = 1_000
"""Suggestions that one replace_all makes (0.2 s); nobody reviews more."""

NOTE_FILE_BYTES: Final = 2 * NOTE_BYTES
"""A file that may become a note: as many bytes again for carriage returns and a byte order mark."""

CARRIED_BYTES: Final = 4 * MIB
"""What an export says about one note's suggestions, in JSON: with the largest file in base64 it
still fits into a line on kb.sock. Some 30,000 suggestions; the export reports a note with more."""

EXPORT_LIST_BYTES: Final = GIB
"""All of `.flashgrep-export`: a million notes have 200 MiB; a larger one is refused."""

OWNER_SECONDS: Final = 10.0
"""How long a terminal command waits for notes that another one has open."""

TOKEN_LOOK_SECONDS: Final = 1.0
"""How often a server with open connections checks whether a token was revoked or has expired."""

# ── signing in ──────────────────────────────────────────────────────────────────────────────────
LINK_SECONDS: Final = 24 * 3_600
"""How long the link that `serve` or `flashgrep open` prints can be used, once…"""

PERSON_LINK_SECONDS: Final = 7 * 24 * 3_600
"""…and one made for somebody else, who may find it in the mail after the weekend."""

SESSION_SECONDS: Final = 30 * 24 * 3_600
"""How long somebody stays signed in, however often they come: then they need another link."""

SESSIONS_KEPT: Final = 1_000
"""Sessions of one server; beyond that the oldest ends."""

WRONG_LINKS: Final = 30
"""Wrong sign-in links within a minute that get an explanation; more get a 429, and the log says so.
A right one is still accepted: nobody can lock others out."""

# ── live editing ────────────────────────────────────────────────────────────────────────────────
LIVE_MESSAGE_BYTES: Final = UPDATE_BYTES + 1 * KIB
"""One frame of a peer: an update and its envelope."""

UNSENT_BYTES: Final = 16 * MIB
"""Data waiting for a peer to read it; a peer with more does not keep up, and is closed…"""

UNSENT_FRAMES: Final = 10_000
"""…as is one with more frames than this."""

LIVE_CONNECTIONS: Final = 200
"""Default of --live-connections: those that stay open on HTTP (live editing, events, MCP streams).
The rest of `CONNECTIONS` is left for requests; a higher setting raises that too."""

LIVE_SHARE: Final = 100
"""Default of --live-share: those of one token. A person has a few notes open, a team that shares a
token a few dozen."""

EVENTS_KEPT: Final = 1_000
"""Events that a page can catch up on when it reconnects; after more it gets `reload`."""

EVENTS_UNSENT: Final = 256
"""Events that wait for one page; with more it gets `reload`."""

SHOWN_SUGGESTIONS: Final = 50
"""Pending suggestions listed below a note that is read; for the rest only the lines are listed."""

SHOWN_COMMENTS: Final = 50
"""Comment threads listed below a note that is read; for the rest only the lines are listed…"""

SHOWN_REPLIES: Final = 10
"""…with the last of the replies in each…"""

SHOWN_COMMENT_CHARS: Final = 1_000
"""…and this much of what each says."""

SHOWN_OUTCOMES: Final = 50
"""Decisions on a reader's suggestions listed below a note that is read; the next read lists
more."""

TOLD_TEXT_CHARS: Final = 1_000
"""How much of a text that was accepted instead of a suggested one is shown there to the author; all
of it is in the note."""

SHORT_DIFF_CHARS: Final = 60
"""How much such a list shows of what a suggestion deletes or inserts."""

# ── callers ─────────────────────────────────────────────────────────────────────────────────────
CALLS_AT_ONCE: Final = 8
"""Tool calls of one caller that run at once; its further calls wait, nobody else's do."""

CALL_SECONDS: Final = 60
"""Default of --call-seconds: clients give up after about a minute, too."""

REMEMBERED_CALLERS: Final = 1_024
"""Callers whose reads are remembered; the one idle longest is forgotten first."""

REMEMBERED_FILES: Final = 10_000
"""Files remembered per caller."""

RECENT_CALLS: Final = 200
"""Calls that the status page shows."""

SEEN_LATELY_SECONDS: Final = 600
"""A client on HTTP, which has no connection, counts as connected this long after its last call."""

AUTHOR_CHARS: Final = 100
"""How much of a client's name is kept as the author of its suggestions; known ones have under
30."""

# ── marks and links in notes ────────────────────────────────────────────────────────────────────
MARK_CHARS: Final = 64 * KIB
"""Longest text of a mark that no record holds: a stray opener must not swallow the note."""

METADATA_CHARS: Final = 1_000
"""Longest metadata at the start of a mark; Commentator writes author and time."""

RELINKED_NOTES: Final = 5_000
"""Notes in which links follow a move; all change in one transaction (1 s), for which others
wait."""

FOLDER_NOTES: Final = 5_000
"""Notes that are moved or deleted with their folder, also in one transaction."""

LISTED_LINKS: Final = 200
"""Links each way on a page of a note's links, if no limit is given…"""

LISTED_LINKS_MOST: Final = 1_000
"""…and the most on a page: for each backlink, a line of another note is read."""

LISTED_TRASH: Final = 1_000
"""Notes on a page of the trash, which nobody empties."""

LINK_CHARS: Final = 2_000
"""Longest target of a link; longer ones are text, so that reading links stays linear."""

# ── texts as they are quoted ─────────────────────────────────────────────────────────────────────


def shortened(text: str, most: int = QUOTED_CHARS) -> str:
    """A text, or as much of it as is quoted."""
    return text if len(text) <= most else text[:most] + "..."


# ── sizes as people read them, in the binary multiples of --max-file-size ────────────────────────
_SIZE_NAMES: Final = ("KB", "MB", "GB", "TB", "PB", "EB")


def size_text(size: int) -> str:
    """`512 bytes`, `2.4 MB`."""
    if size < KIB:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    value = float(size)
    for unit in _SIZE_NAMES:
        value /= KIB
        if value < 1023.95 or unit == _SIZE_NAMES[-1]:
            break
    return f"{value:.1f} {unit}"
