"""Every ceiling in one place, whatever its length: name, value, unit, reason.

Whoever asks why something was cut looks here, so it is not split by room.
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
"""Open connections per listener; the next one takes the place of the one idle longest that never
sent a message, and is closed at once where there is none."""

JSON_NODES: Final = 100_000
"""Values in one inbound message: 4 MiB of `[]` would grow to 90 MiB of Python objects."""

BATCH_MESSAGES: Final = 100
"""Messages in a JSON-RPC batch; its answers are held until the last one is there."""

REQUESTS_IN_FLIGHT: Final = 256
"""Unanswered requests per connection; the next one is read when an answer has gone out."""

READ_CHUNK_BYTES: Final = 64 * KIB
"""What is read from a pipe or socket at a time."""

DRAIN_SECONDS: Final = 1.5
"""After the end of stdin, running calls have this long: the process must be gone in two seconds."""

SOCKET_DRAIN_SECONDS: Final = 5.0
"""The same on sockets, where a peer that only half-closed waits for its answers."""

JOIN_SECONDS: Final = 1.0
"""A daemon must say who it is in this time, or `flashgrep mcp` serves alone: a client waits."""

JOIN_BYTES: Final = 64 * KIB
"""…and in a line no longer than this: the answer has a few hundred bytes."""

CONNECTION_OFFERS: Final = 32
"""Different sets of connection settings whose tools are kept ready; more are made again."""

LINGER_SECONDS: Final = 2.0
"""How long a refused connection is read to its end: closed earlier, what it still sends would
make the kernel reset it, and drop answers that its peer has not read."""

SHUTDOWN_SECONDS: Final = 1.0
"""After SIGTERM, open HTTP exchanges have this long."""

STOP_SECONDS: Final = 4.0
"""After SIGTERM, the process is ended this much later whatever still runs: service managers and
people expect five seconds, and everything on disk survives a kill."""

KEEP_ALIVE_SECONDS: Final = 60
"""An HTTP connection between two requests."""

# ── answers ─────────────────────────────────────────────────────────────────────────────────────
OUTPUT_CHARS: Final = 45_000
"""Default budget of a tool answer: Claude Code shows 50,000 characters whole, and replaces 70,000
by a file and a preview, in which the line that says how to go on is lost."""

HINTED_OUTPUT_CHARS: Final = 100_000
"""The same for a client that honours RESULT_SIZE_CHARS, and for tools that carry it."""

RESULT_SIZE_CHARS: Final = 150_000
"""What the file tools tell clients their answers may have: the budget, and room for what a client
counts besides (JSON escapes, the envelope)."""

SHOWN_LINE_CHARS: Final = 2_000
"""A longer line is cut in view and grep: one minified line would fill the answer."""

MATCH_WINDOW_CHARS: Final = 500
"""What grep shows before, of, and after the first match of a line that is cut."""

READ_LINES: Final = 2_000
"""Lines a read returns when no limit is given, as Claude Code's does."""

PATH_CHARS: Final = 32_768
"""Longest path argument; deeper trees exist, but no agent names them in one call."""

FOOTER_CHARS: Final = 300
"""Kept free in a budget for the line that says what is missing and which call continues."""

SNIPPET_CONTEXT: Final = 4
"""Lines shown before and after a replacement."""

SNIPPET_LINES: Final = 60
"""Lines of the snippet an edit returns; the caller knows what it wrote."""

LISTED_LINES: Final = 10
"""Line numbers a refusal or confirmation names before it says how many more there are."""

QUOTED_CHARS: Final = 1_000
"""Of a string that was not found, this much is repeated in the refusal."""

TOKEN_CHARS: Final = 4
"""Characters that max_tokens counts as one token: about what tokenizers make of code."""

# ── files ───────────────────────────────────────────────────────────────────────────────────────
FILE_BYTES: Final = 10 * MIB
"""Default of --max-file-size: view, read, images, writes."""

SNIFF_BYTES: Final = 512
"""What the MIME sniffing standard looks at."""

MULTILINE_BYTES: Final = 256 * MIB
"""A larger file is skipped in multiline, and told: the pattern needs all of it in memory."""

IGNORE_FILE_BYTES: Final = 4 * MIB
"""A larger .gitignore is no rule file; git itself stops at 100 MiB."""

CHUNK_BYTES: Final = 256 * KIB
"""Files are read, copied and compared in pieces of this size."""

HASHED_VIEW_BYTES: Final = 1 * MIB
"""A view of a part of a file up to this size hashes all of it (1 ms); a larger one is remembered
by inode, size and times unless the view came to its end anyway."""

RACY_SECONDS: Final = 0.05
"""A file changed this recently can change again without new times; they prove nothing."""

LOCK_SECONDS: Final = 5.0
"""Waiting for another server's lock on a file; a foreign program may hold one for ever."""

EDIT_ATTEMPTS: Final = 100
"""Fresh starts of an edit whose file changed under it: each means another writer got through."""

BATCH_OPERATIONS: Final = 1_000
"""Operations of one batch_write_code: far above any refactoring an agent spells out."""

BATCH_FILE_BYTES: Final = 128 * MIB
"""Old and new bytes of one batch together: all of them are held until the last file is down."""

SKILL_BYTES: Final = 64 * KIB
"""Largest --skill-file: it goes whole into a model's context."""

SUGGESTION_ENTRIES: Final = 5_000
"""Names looked at for a "Did you mean" when a path does not exist."""

IGNORE_RE2_BYTES: Final = 8 * MIB
"""RE2's budget for one union of ignore rules; a union that does not fit is halved."""

# ── search ──────────────────────────────────────────────────────────────────────────────────────
BATCH_BYTES: Final = 256 * KIB
"""Small files are matched together once this much is read: one call into RE2, data in cache."""

DENSE_BYTES: Final = 6 * KIB
DENSE_BYTE_BYTES: Final = 2 * KIB
"""A matching line in each so many bytes: then lines of a literal are counted in one go. A single
byte has its own figure, for RE2 looks for that one faster."""

DENSE_STEP: Final = 512 * KIB
"""Bytes of one go, in which no other thread of ours runs."""

DENSE_AFTER_BYTES: Final = 16 * MIB
"""So many must have been like that for a process to load numpy, which takes 100 ms."""

WINDOW_BYTES: Final = 1 * MIB
"""Larger files are matched in windows of this size, cut at line ends."""

HOLE_BYTES: Final = 16 * GIB
"""A sparse file with more holes than this is skipped, and told: it would be scanned for hours."""

SLICE_FILES: Final = 1_500
"""Files a worker scans before it hands its remaining directories back to be shared."""

SLICE_SECONDS: Final = 0.06
"""…or this long, so that both cores stay busy and a cancelled call stops quickly."""

INLINE_SECONDS: Final = 0.03
"""A search this short is answered in the server's own thread, without worker processes."""

HERE_SECONDS: Final = 0.025
"""What one call into RE2, which nothing can stop, may take at worst in the server itself; anything
longer is done by a process that can be killed."""

PORTION_SECONDS: Final = 0.1
"""How long the matches of one portion may be gone through in the server, where a cancel is looked
for between portions only; a process goes on with what takes longer."""

BRIEF_SECONDS: Final = 2 * INLINE_SECONDS
"""How long a pattern that may run long is tried in the server itself, before a process does it."""

INLINE_FILE_BYTES: Final = 1 * MIB
"""A larger file always goes to a worker process, which can be stopped."""

INLINE_TAME_BYTES: Final = 4 * MIB
"""The same for a pattern that is sure to be matched fast: 10 ms, less than a process takes."""

PATTERN_CHARS: Final = 10_000
"""Longest pattern."""

PATTERN_STEPS: Final = 60_000
"""Most steps of a compiled pattern: `.{1000}` has 8,000, `\\pL{40}` 48,000. Compiling these takes
40 ms and 10 MB; RE2 itself would go on to ten times that."""

PATTERN_CHECK_BYTES: Final = 4 * MIB
"""RE2's budget when it is tried whether a pattern with repetitions is small enough: with that it
gives up soon above so many steps."""

SWITCH_SECONDS: Final = 5e-4
"""How long a thread that computes keeps the interpreter while another one waits for it: Python's
5 ms are as long as a whole search, which gives it away with every call into RE2."""

RE2_BYTES: Final = 16 * MIB
"""RE2's budget for a compiled pattern and its cached states."""

REMEMBERED_PATTERNS: Final = 8
"""Compiled patterns kept for the next call: each may take RE2's whole budget."""

REMEMBERED_RULES: Final = 16
"""Rule files whose rules are kept ready: those above the directories that are searched."""

RELEASE_BYTES: Final = 64 * MIB
"""When searches have touched so much of the index, its mapped pages are given back …"""

RELEASE_SECONDS: Final = 10.0
"""… after so long without a search: mapping 75,000 of them again takes 100 ms."""

GLOB_CHARS: Final = 4_096
"""Longest glob; Linux allows no longer path in one call either."""

GLOB_PATTERNS: Final = 1_000
"""Most globs in one list; braces join as many as anyone needs."""

GLOB_LIST_CHARS: Final = 20_000
"""Characters of all globs in one list: these take 0.2 s to compile, 4 MB of braces took 19."""

GLOB_NESTING: Final = 32
"""Deepest braces in a glob: far above any real one, far below Python's own recursion."""

CANCEL_SECONDS: Final = 0.08
"""A worker that has not come back this long after a cancel is killed; a new one takes its place."""

RETURN_SECONDS: Final = 0.15
"""The same where the search has found enough, and nobody waits for the processor."""

OVERLONG_SECONDS: Final = 0.25
"""Processor time that a worker may need for one slice: far more than `SLICE_SECONDS`. One that
needs more is lost in a long match; it goes on apart from the others where there is room for that,
and is killed, to be done again when there is, where there is none."""

SPARE_WORKERS: Final = 1
"""Workers beyond one a core, for connections that have searched little of late."""

PROGRESS_SECONDS: Final = 1.0
"""Work that lasts longer reports progress when the caller asked for it."""

# ── index ───────────────────────────────────────────────────────────────────────────────────────
INDEXED_FILE_BYTES: Final = 64 * MIB
"""A larger file is not copied into the index; every search reads it from disk instead."""

SEGMENT_BYTES: Final = 96 * MIB
"""Text of one segment: building one takes about four times as much memory."""

SEGMENT_FILES: Final = 32_000
"""Files of one segment: blocks are numbered in 16 bits, and a file may begin one."""

SMALL_SEGMENT_BYTES: Final = 8 * MIB
"""A smaller segment is not worth cutting a tree for, even to keep every core busy."""

BUILDERS: Final = 4
"""Processes that build at once: each takes some 300 MB, whatever the number of cores."""

INDEX_FEW_PIECES: Final = 128
"""Candidates, of some 16 KiB each, that are matched one by one: sorting them out by segment, in
arrays, would take as long."""

INDEX_PORTION_BYTES: Final = 4 * MIB
"""Candidate text that is matched before a cancel is looked for."""

INDEX_PROBE_BYTES: Final = 128 * KIB
"""Candidate text that is matched first, to see how much of it matches and how long that takes."""

INDEX_SHARED_BYTES: Final = 2 * MIB
INDEX_SHARED_SECONDS: Final = 4e-3
"""Candidate text is shared out among processes if it is more than this and takes longer than that:
handing it over takes a millisecond."""

MATCHERS_REST_SECONDS: Final = 1.0
"""After the first search that could use further processes, until they are started: that takes
200 ms of a core each, and an agent's next search often comes at once."""

INDEX_EACH_BYTES: Final = 24 * KIB
"""A file found in each so many bytes: then nearly all match, and each is asked by itself."""

CONFIRMED_FILES: Final = 250
"""Files of an answer that are compared with the disk once more: 5 µs each, and a page is read."""

INDEX_INLINE_BYTES: Final = 1 * MIB
"""Less than this is matched by the thread that asks: handing it over costs more."""

# ── ranking and symbols ─────────────────────────────────────────────────────────────────────────
QUERY_CHARS: Final = 10_000
"""Longest text of a query; a question has a few words, a pasted error message some hundred."""

QUERY_WORDS: Final = 32
"""Words of a query that count; each costs some 150 lookups."""

QUERY_FILES: Final = 500
"""Files a query ranks: whoever reads on behind these should ask better."""

RANKING_IDLE_SECONDS: Final = 30.0
"""An open ranked index wakes up twice a second; this long after the last query it is closed."""

RANKED_OVERLAY_BYTES: Final = 1 * MIB
"""Of a changed file, what is read to rank it until the index has it."""

SCANNED_WORDS: Final = 8
"""Words of a query that are searched for where there is no ranked index: each is a scan."""

SCANNED_FILES: Final = 300
"""Files whose size is looked up for a ranking by scanning."""

PASSAGE_BYTES: Final = 4 * MIB
"""What is read of a file to find its best lines."""

PASSAGE_LINES: Final = 60
"""Lines of a passage: a screen; a longer function is shown from its beginning."""

PREVIEW_LINES: Final = 3
"""Matching lines a result shows, before context."""

PREVIEW_CHARS: Final = 200
"""Of each of these lines."""

QUERY_CONTEXT: Final = 50
"""Most lines of context around a preview line; get_slice reads more."""

SYMBOL_CHARS: Final = 1_000
"""Longest symbol name; the longest identifiers known are mangled ones of some hundred."""

SYMBOL_FILES: Final = 60
"""Files parsed for the definitions of one symbol, those that look like defining it first."""

SYMBOL_LINES: Final = 50_000
"""Lines that name a symbol and are looked at for its definition; more is told as incomplete."""

SYMBOL_SECONDS: Final = 2.0
"""Parsing one file may take this long; a good one takes a tenth of it."""

SYMBOL_FILE_BYTES: Final = 1 * MIB
"""A larger file is not parsed, and that is told: tree-sitter takes a second for 3 MB."""

INDEX_WAIT_SECONDS: Final = 3.0
"""A search waits this long for an index that is being looked through; then it scans."""

RANK_LOOK_SECONDS: Final = 1.0
"""How often a question makes a reader look whether the writer has ranked everything."""

RANK_REST_SECONDS: Final = 1.5
"""Between the first search a new server can answer and the work on its ranked index."""

LIST_INLINE_SECONDS: Final = 0.05
"""A tree that is listed this fast needs no processes to list it."""

UNRANKED_FILES: Final = 2_000
"""Changed files that are counted for a question, once each; where there are more, it scans."""

UNRANKED_BYTES: Final = 64 * MIB
"""Text that is counted for a question, 25 MB a second; where there is more, it scans."""

COUNT_SETTLED_NS: Final = 100_000_000
"""A changed file that is read sooner after its change than this, in nanoseconds, is counted once
more: until then it can change again and have the same times, which move in steps of 10 ms."""

DOUBT_SECONDS: Final = 1.0
"""A file that was changed within this time before it was read is read again later: two changes
so close together may leave the same times."""

DOUBT_LATEST_SECONDS: Final = 600.0
"""For so long a server that does not write the index looks whether another one did that."""

FOLD_QUIET_SECONDS: Final = DOUBT_SECONDS
"""Changes are folded into the index when there was none for this long: then once is enough…"""

FOLD_LATEST_SECONDS: Final = 5.0
"""…or when the last folding is this long ago."""

FOLD_TURN_SECONDS: Final = 0.1
"""While changes wait to be folded in, the kernel's queue is emptied this often."""

FOLD_RETRY_SECONDS: Final = 60.0
"""After failures, on a full disk for one, the index tries again ever later, at most so much."""

SWEEP_SECONDS: Final = 300.0
"""A search this long after the last look at the whole tree starts another: writes through a
memory map raise no event."""

# ── knowledge base ──────────────────────────────────────────────────────────────────────────────
NOTE_BYTES: Final = 4 * MIB
"""Text of one note: a long book has two; every peer that opens a note gets all of it."""

UPDATE_BYTES: Final = 8 * MIB
"""One update of a peer; a note typed letter by letter is many times as large as its text."""

PENDING_BYTES: Final = 1 * MIB
"""Updates of a note that wait for one before them; with more, all of them are forgotten, and the
peers are asked for what is missing."""

NOTE_PATH_BYTES: Final = 1_024
"""Path of a note; an export must find room for it below any directory."""

NOTE_NAME_BYTES: Final = 255
"""One name in such a path, as file systems have it."""

LIVE_NOTES: Final = 2_000
"""Documents kept in memory; another is loaded in a fraction of a millisecond."""

NOTES_A_TURN: Final = 50
"""Of many notes that are read at once, how many are loaded (10 ms) before others get a turn."""

LINKED_NOTES_A_TURN: Final = 10
"""Of notes whose links are to be read, how many are (6 ms) before others get a turn."""

FOLLOWED_CHARS: Final = 256 * KIB
"""Suggestions and links of a longer note are not worked out with every change of it (256 KiB take
some 30 ms) but when somebody asks for them…"""

TYPED_CHARS: Final = 16 * KIB
"""…and those of a note longer than this not with every letter that is typed in it (2 ms)."""

DECISIONS_A_TURN: Final = 100
"""More decisions than these on one note (some 20 ms) are prepared before their transaction…"""

ANCHORS_A_TURN: Final = 200
"""…for which so many characters are named at a time (40 ms in a note of 15,000 blocks)."""

NOTES_A_SLICE: Final = 250
"""Of the notes a search looks at, how many are read (80 ms at most) before a cancel is heard."""

COMPACT_RECORDS: Final = 200
"""Updates of a note after its newest snapshot; then another snapshot is taken…"""

COMPACT_BYTES: Final = 1 * MIB
"""…or when they are this large together."""

SNAPSHOT_SECONDS: Final = 600.0
"""A note that is changed this long after its newest snapshot is kept as it was before."""

SNAPSHOT_DAYS: Final = 1.0
"""Snapshots older than this are thinned out to one a day."""

DATABASE_SECONDS: Final = 5.0
"""Waiting for a lock on the notes' database; only a backup by another program holds one."""

LISTED_SUGGESTIONS: Final = 100
"""Suggestions, or decisions, on a page where no limit is given."""

LISTED_SUGGESTIONS_MOST: Final = 1_000
"""Most of them on a page."""

CONTEXT_CHARS: Final = 200
"""What is shown of a note before and behind a suggestion in a list."""

DECISIONS_AT_ONCE: Final = 500
"""Suggestions in one request to decide that is answered when all are decided (0.2 s)…"""

DECISIONS_A_CALL: Final = 200
"""Of these, how many a terminal asks for at a time: others get turns, and progress is kept."""

DECISIONS_A_JOB: Final = 20_000
"""…and in one that is answered at once with a job: their ids are a message of 500 KB."""

DECISION_JOBS: Final = 4
"""Jobs that run at once; each takes a turn of the notes after the other."""

REPLACED_OCCURRENCES: Final = 1_000
"""Suggestions that one replace_all makes (0.3 s): each change takes the engine a walk through the
note, so that ten times as many take a hundred times as long, and nobody reviews them."""

CANCEL_LOOK_SECONDS: Final = 0.05
"""How often a call that waits for its turn at the notes looks whether it was cancelled."""

NOTE_FILE_BYTES: Final = 2 * NOTE_BYTES
"""A file that may become a note: as many bytes again for carriage returns and a byte order mark."""

IMPORT_BATCH_FILES: Final = 200
"""Files that are imported in one transaction, or read for an export at once…"""

IMPORT_BATCH_BYTES: Final = 1 * MIB
"""…or this many bytes of them, if that is less; a single larger one goes alone."""

CARRIED_BYTES: Final = 4 * MIB
"""What an export says of one note's suggestions, in JSON: with the largest file in base64 it still
fits into a line on kb.sock. Some 30,000 suggestions; the export tells of a note with more."""

EXPORT_LIST_LINE_BYTES: Final = 16 * MIB
"""A line of `.flashgrep-export`; a longer one is none of ours, and skipped."""

EXPORT_LIST_BYTES: Final = GIB
"""All of `.flashgrep-export`: a million notes have 200 MiB; a larger one is refused."""

SEARCHED_TEXTS: Final = 8
"""How many times a file's characters may be looked at to find its suggestions again."""

CARRIED_AUTHOR_CHARS: Final = 1_000
"""Longest name of an author that an import takes from an export; no metadata holds a longer one."""

OWNER_MESSAGE_BYTES: Final = 16 * MIB
"""A line on kb.sock, where the largest file comes in base64, or as JSON with escapes."""

OWNER_SECONDS: Final = 10.0
"""How long a terminal command waits for notes that another one has open just now."""

TOLD_READS: Final = 100
"""Notes that a caller read last, told to whoever owns them with each of its calls."""

TOKEN_LOOK_SECONDS: Final = 1.0
"""How often a server with open connections looks whether a token was taken back or expired."""

# ── live editing ────────────────────────────────────────────────────────────────────────────────
LIVE_MESSAGE_BYTES: Final = UPDATE_BYTES + 1 * KIB
"""One frame of a peer: an update and what is around it."""

LIVE_BYTES_A_SECOND: Final = 4 * MIB
"""What is read of one peer in the long run; a person types a few hundred…"""

LIVE_BYTES_BURST: Final = 32 * MIB
"""…but a peer that comes back sends all it has typed at once."""

LIVE_FRAMES_A_SECOND: Final = 500
"""Frames of one peer; somebody who drags a selection sends sixty…"""

LIVE_FRAMES_BURST: Final = 5_000
"""…and a script that types sends thousands, once."""

UNREAD_BYTES: Final = 4 * MIB
"""What is read ahead of a peer while the notes are busy."""

UNSENT_BYTES: Final = 16 * MIB
"""What waits for a peer to be read; with more it does not keep up, and is closed…"""

UNSENT_FRAMES: Final = 10_000
"""…as with more frames than these."""

LIVE_CONNECTIONS: Final = 200
"""Default of --live-connections: those that stay open on HTTP (live editing, events, MCP streams).
The rest of `CONNECTIONS` is left for requests; where the setting is higher, so is that."""

LIVE_SHARE: Final = 100
"""Default of --live-share: those of one token. A person has a few notes open, and a team that
shares a token some tens."""

PING_SECONDS: Final = 20.0
"""A live connection is pinged this often, and must answer in this time; proxies close silent ones
after a minute."""

QUIET_SECONDS: Final = 12.0
"""A peer is sent something at least this often; y-websocket gives up after thirty."""

CLOSE_SECONDS: Final = 5.0
"""A peer that was told to close is cut off after this time."""

PRESENCE_BYTES: Final = 16 * KIB
"""What a client tells of itself; a cursor, a name and a colour have two hundred. A longer state is
not passed on."""

PRESENCE_BYTES_A_SECOND: Final = 64 * KIB
"""What one connection may tell of its clients in the long run, for all others get it; somebody who
drags a selection sends twenty…"""

PRESENCE_BYTES_BURST: Final = 512 * KIB
"""…and a client that comes back tells of everybody it knows, once."""

PRESENT_CLIENTS: Final = 512
"""Clients in one note, and as many that left it, so that nobody else takes their numbers…"""

PRESENT_CLIENTS_A_TOKEN: Final = 256
"""…those of one token, so that others find room…"""

PRESENT_CLIENTS_A_CONNECTION: Final = 4
"""…and those that one connection ever speaks for; a browser has one."""

EVENTS_KEPT: Final = 1_000
"""News that a page can catch up on when it comes back; with more it is told to load again."""

EVENTS_UNSENT: Final = 256
"""News that wait for one page; with more it is told to load again."""

EVENT_SECONDS: Final = 15.0
"""A stream of news is never silent for longer, so that an end is noticed."""

NEWS_SECONDS: Final = 0.2
"""Changes of one note within this time are one piece of news."""

SHOWN_SUGGESTIONS: Final = 50
"""Pending suggestions listed below a note that is read; the rest is told by line."""

SHORT_DIFF_CHARS: Final = 60
"""Of what a suggestion takes away or brings, what such a list shows."""

# ── callers ─────────────────────────────────────────────────────────────────────────────────────
CALLS_AT_ONCE: Final = 8
"""Tool calls of one caller that run together; its next ones wait, and nobody else's do."""

THREADS: Final = 64
"""Tool calls that run together, beyond the first one of each caller."""

RUNNING_CALLERS: Final = 512
"""Callers of which one call may run at least: as many as there are connections to two listeners."""

CALL_SECONDS: Final = 60
"""Default of --call-seconds: clients give up after about a minute, too."""

REMEMBERED_CALLERS: Final = 1_024
"""Callers whose reads are remembered; the one idle longest is forgotten first."""

REMEMBERED_FILES: Final = 10_000
"""Files remembered per caller."""

AUTHOR_CHARS: Final = 100
"""Of a client's name, what stands beside its suggestions; the clients we know have under thirty."""

# ── marks and links in notes ────────────────────────────────────────────────────────────────────
MARK_CHARS: Final = 64 * KIB
"""Longest text of a mark that no record holds: a stray opener must not swallow the note."""

METADATA_CHARS: Final = 1_000
"""Longest metadata at the beginning of a mark; Commentator writes author and time."""

LINK_CHARS: Final = 2_000
"""Longest target of a link; longer ones are text, so that reading links stays linear."""
