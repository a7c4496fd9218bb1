"""Writes a small knowledge base and a small index, to be kept as they are for later versions.

    python -m tests.formats.generate TARGET

    TARGET/kb            a knowledge base: notes.db, attachments, tokens.json
    TARGET/kb.json       what it holds, as the code that wrote it reads it
    TARGET/workspace     some files
    TARGET/index         the index of them

Clock, ids and clients are the same in every run. Run it only with the code whose format is to be
kept; what is stored already is never written again (see README.md).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pycrdt import Doc, Text

from flashgrep.notes import history
from flashgrep.notes.access.roles import Author, AuthorKind, Role, everywhere
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.document import note as note_module
from flashgrep.notes.document.note import CONTENTS, Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.folders.exporting import Attachments
from flashgrep.notes.folders.importing import IncomingNote, take
from flashgrep.notes.home import ATTACHMENTS, Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.review.commenting import CommentedPassage
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action, Verdict
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import Markup, propose

START = 1_700_000_000_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
ADMIN = everywhere("ann", Role.ADMIN)
CLAUDE = Author("tok/claude", AuthorKind.TOKEN)

GARDEN = """---
related: "[[Plan]]"
---
# Tomatoes

Sow in March. See [[Plan|the plan]], [[Garden/Beans]] and [[Not there]].
Water every day. Größe: 😀 big.

```sh
water --every day
```

![[leaf.png]] and [beans](Beans.md#rows "rows").
"""


class Clock:
    """Time that moves when it is told to, and a little at every look."""

    def __init__(self) -> None:
        self.now = START

    def time_ns(self) -> int:
        self.now += 1
        return self.now * 1_000_000


def settle(clock: Clock) -> None:
    """Make everything that is random or of this moment the same in every run."""
    chance = random.Random(12)
    clients = itertools.count(1_001)

    def fixed(nbytes: int | None = None) -> str:
        return chance.randbytes(nbytes or 8).hex()

    time.time_ns = clock.time_ns
    secrets.token_hex = fixed
    secrets.token_urlsafe = fixed
    vars(note_module)["Doc"] = lambda: Doc(client_id=next(clients))


class Hand:
    """Somebody who writes notes, by their paths."""

    def __init__(self, kb: KnowledgeBase, clock: Clock) -> None:
        self.kb = kb
        self.clock = clock

    def id(self, path: str) -> str:
        return self.kb.ask(lambda library: library.find(path).id)

    def add(self, path: str, text: str, author: str = "ann") -> None:
        self.kb.ask(lambda library: library.create(path, text, author))

    def append(self, path: str, text: str, author: str = "ann") -> None:
        def plan(now: str, _: object) -> Amendment:
            return Amendment([TextSplice(len(now), len(now), text)])

        self.kb.ask(lambda library: library.amend(library.find(path).id, plan, author))

    def type(self, path: str, text: str, at: int, author: str, client: int) -> None:
        """As a peer does, with a client of its own."""
        note = self.id(path)
        doc: Doc[Text] = Doc(client_id=client)
        doc.apply_update(self.kb.ask(lambda library: library.missing(note, doc.get_state())))
        before = doc.get_state()
        doc.get(CONTENTS, type=Text).insert(at, text)
        update = doc.get_update(before)
        self.kb.ask(lambda library: library.receive(note, [update], author))

    def suggest(
        self, path: str, old: str, new: str, author: str, every: bool = False, **more: Any
    ) -> str:
        return propose(self.kb, path, Edit(old, new, every), author, **more).ids[0]

    def compact(self, path: str) -> None:
        note = self.id(path)
        self.kb.ask(lambda library: library.compact(note))


def write_notes(hand: Hand) -> None:
    kb, clock, review = hand.kb, hand.clock, hand.kb.review
    hand.add("Plan.md", "# Plan\n\nOne, two, three.\nAlpha beta gamma delta.\n")
    hand.add("Garden/Tomatoes.md", GARDEN)
    hand.add("Garden/Beans.md", "# Beans\n\nBack to [[Tomatoes]].\n", "bob")
    hand.add("Log.md", "start\n")
    hand.add("Empty.md", "")
    hand.add("Gone.md", "It says hello.\n", "bob")
    hand.add("Moved.md", "Somewhere: [[Log]].\n", "bob")
    for hour in range(6):
        clock.now += HOUR
        hand.append("Plan.md", f"Hour {hour} 📝.\n", ("ann", "bob", "tok/editor")[hour % 3])
        hand.type("Garden/Tomatoes.md", f"typed {hour} ", 30, "bob", 2_000 + hour)
    for number in range(30):
        clock.now += SECOND
        hand.append("Log.md", f"line {number}\n")
        if number in (9, 19):
            hand.compact("Log.md")
    clock.now += 3 * DAY
    hand.append("Log.md", "after days\n", "bob")

    accepted = hand.suggest("Plan.md", "One", "1", "tok/claude")
    rejected = hand.suggest("Plan.md", "two", "2", "tok/claude")
    undone = hand.suggest("Plan.md", "three", "3 é", "mcp-client")
    review.decide([accepted], Action.ACCEPT, ADMIN, "ann")
    review.decide([rejected], Action.REJECT, ADMIN, "bob")
    (outcome,) = review.decide([undone], Action.ACCEPT, ADMIN, "ann")
    assert outcome.decided is not None
    review.undo(outcome.decided.id, ADMIN, "bob")
    clock.now += MINUTE
    write_words(hand)

    clock.now += MINUTE
    hand.suggest("Plan.md", "beta", "BETA", "tok/claude")
    hand.suggest("Plan.md", "delta", "", "mcp-client")
    hand.suggest("Garden/Tomatoes.md", "day", "night", "tok/claude", every=True)
    hand.suggest("Garden/Tomatoes.md", "Größe: 😀", "Size: 📏", "other", markup=Markup.COMMENTATOR)
    hand.suggest("Garden/Beans.md", "[[Tomatoes]]", "[[Plan]] again", "tok/claude")
    hand.append("Garden/Beans.md", "Typed {++by hand++}, {>>a comment<<} and {==light==}.\n")

    files = [
        IncomingNote("Windows.md", b"\xef\xbb\xbfone\r\n{--two--}{++2++}\r\n", "vault"),
        IncomingNote("Plain.md", b"[[Windows]] {~~a~>b~~}\n", "vault"),
    ]
    kb.ask(lambda library: take(library, files, "importer"))
    hand.suggest("Gone.md", "hello", "goodbye", "tok/claude")
    gone, moved, again = hand.id("Gone.md"), hand.id("Moved.md"), hand.id("Empty.md")
    kb.ask(lambda library: library.delete(gone))
    kb.ask(lambda library: library.catalogue.move(moved, "Garden/Deep/Moved here.md"))
    kb.ask(lambda library: library.rebuild(again, "Begun anew.\n", "ann"))


def write_words(hand: Hand) -> None:
    """What people say when they decide: reasons, texts of their own, comments."""
    review, commenting = hand.kb.review, hand.kb.commenting
    hand.add("Said.md", "Red, green, blue.\nCyan, pink, grey. Größe 😀 end.\n")
    refused = hand.suggest("Said.md", "Red", "Rot", CLAUDE.name, source=AuthorKind.TOKEN)
    edited = hand.suggest("Said.md", "green", "grün", CLAUDE.name, source=AuthorKind.TOKEN)
    undone = hand.suggest("Said.md", "blue", "blau", "mcp-client", source=AuthorKind.LOCAL)
    discussed = hand.suggest("Said.md", "Cyan", "Türkis", CLAUDE.name, source=AuthorKind.TOKEN)
    hand.suggest("Said.md", "Größe 😀", "Size 📏", CLAUDE.name, source=AuthorKind.TOKEN)
    note = hand.id("Said.md")
    ann, bob = Author("ann", AuthorKind.PERSON), Author("bob", AuthorKind.PERSON)
    said = commenting.on_suggestion("Said.md", discussed, "Is that the same?", ADMIN, ann)
    commenting.reply(said.id, "Nearly 😀.", ADMIN, CLAUDE)
    commenting.on_suggestion("Said.md", refused, "Why German?", ADMIN, bob)
    before = hand.kb.read(note).text.partition("pink")[0]
    start = len(before.encode("utf-16-le")) // 2
    passage = CommentedPassage(start, start + 4, "pink")
    resolved = commenting.on_passage("Said.md", passage, "Pink?", ADMIN, ann)
    commenting.resolve(resolved.id, ADMIN, "ann")
    hand.clock.now += MINUTE
    review.decide([refused], Verdict(Action.REJECT, reason="English, please: é"), ADMIN, "bob")
    review.decide([edited], Verdict(Action.ACCEPT, text="mint green"), ADMIN, "ann")
    (outcome,) = review.decide([undone], Verdict(Action.ACCEPT, text="navy"), ADMIN, "ann")
    assert outcome.decided is not None
    review.undo(outcome.decided.id, ADMIN, "ann")


def write_rest(home: Home, scratch: Path) -> dict[str, str]:
    """Attachments and tokens; gives the tokens' secrets."""
    source = scratch / "source"
    attachments = Attachments(home.path / ATTACHMENTS)
    for path, data in (
        ("leaf.png", b"\x89PNG\r\n\x1a\n" + bytes(range(64))),
        ("data/table.csv", b"a,b\r\n1,2\r\n"),
    ):
        source.write_bytes(data)
        attachments.put(path, source)
    tokens = Tokens(home.path)
    return {
        "reader": tokens.make("reader", Role.READ),
        "claude": tokens.make("claude", Role.SUGGEST, ["Garden", "Archive"]),
        "editor": tokens.make("editor", Role.WRITE, expires=START + 36_500 * DAY),
        "owner": tokens.make("owner", Role.ADMIN),
    }


def described(kb: KnowledgeBase) -> dict[str, Any]:
    """All that a knowledge base holds, as it is read through what tools and pages use."""

    def notes(library: Library) -> list[dict[str, Any]]:
        return [
            {
                "id": entry.id,
                "path": entry.path,
                "last_path": entry.last_path,
                "epoch": entry.epoch,
                "created": entry.created,
                "trashed": entry.trashed,
                "properties": dict(entry.properties),
                "text": library.read(entry.id).text,
                "records": {
                    name: [dict(one.value), [list(span) for span in one.spans]]
                    for name, one in library.records(entry.id).items()
                },
                "versions": [
                    [
                        one.sequence,
                        one.author,
                        one.time,
                        history.text_at(library, entry.id, one.sequence),
                    ]
                    for one in history.versions(library, entry.id)
                ],
            }
            for entry in (*library.catalogue.entries(), *library.catalogue.trash())
        ]

    page = kb.review.suggestions(Query(limit=1_000), ADMIN)
    fields = ("id", "note", "path", "line", "author", "time", "old", "new", "before", "after")
    paths = [entry.path or "" for entry in kb.ask(lambda library: library.catalogue.entries())]
    attachments = kb.home.attachments
    decisions = kb.review.decisions(ADMIN)
    rows = [(len(decisions) - place, *one) for place, one in enumerate(decisions)]
    return {
        "notes": kb.ask(notes),
        "suggestions": [{name: getattr(one, name) for name in fields} for one in page.suggestions],
        "decisions": [
            [
                path,
                number,
                row.suggestion,
                row.action.value,
                row.by,
                row.time,
                row.old,
                row.new,
                row.undone_by,
                row.undone_time,
            ]
            for number, path, row in rows
        ],
        "words": {
            str(number): [row.reason, row.text, [list(one) for one in row.comments]]
            for number, _, row in rows
        },
        "comments": kb.commenting.listed(ADMIN)[0],
        "resolved": kb.commenting.resolved(ADMIN)[0],
        "news": news(kb),
        "links": {path: links(kb, path) for path in paths},
        "attachments": {
            path: hashlib.sha256((attachments / path).read_bytes()).hexdigest()
            for path in Attachments(attachments).paths()
        },
        "tokens": [
            [one.name, one.role.shown, list(one.folders), one.expires]
            for one in Tokens(kb.home.path).listed()
        ],
    }


def news(kb: KnowledgeBase) -> list[list[Any]]:
    """What the agent was not told yet."""
    notes = kb.ask(lambda library: [entry.id for entry in library.catalogue.entries()])
    found = [one for note in notes for one in kb.review.news(CLAUDE, note)[0]]
    return [[one.suggestion, one.outcome, one.by, one.reason, one.text] for one in found]


def links(kb: KnowledgeBase, path: str) -> list[list[Any]]:
    """The links from and to a note."""
    found = kb.links.links_of(path).links
    return [
        [[out.link.source, out.link.line, out.path, str(out.link.pending)]
         for out in found.outgoing],
        [[back.source, back.link.source, back.link.line] for back in found.backlinks],
    ]  # fmt: skip


def write_kb(target: Path, scratch: Path) -> None:
    clock = Clock()
    settle(clock)
    home = Home.create(target / "kb")
    kb = KnowledgeBase(home.path)
    write_notes(Hand(kb, clock))
    secrets_of = write_rest(home, scratch)
    kb.close()
    again = KnowledgeBase(home.path)
    said = {**described(again), "secrets": secrets_of}
    again.close()
    for name in ("lock", "tokens.lock"):
        (home.path / name).unlink()
    text = json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True)
    (target / "kb.json").write_text(text + "\n", encoding="utf-8")


FILES = {
    "README.md": "# A workspace\n\nThe needle is in src.\n",
    "src/main.rs": 'fn find_needle(hay: &str) -> bool {\n    hay.contains("needle")\n}\n',
    "src/other.rs": "fn nothing() {}\n",
    "docs/größe.txt": "Größe und needle 😀\n",
    "docs/long.txt": "".join(f"line {number} of many\n" for number in range(500)),
}


def write_index(target: Path, scratch: Path) -> None:
    workspace = target / "workspace"
    for name, text in FILES.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    state = scratch / "state"
    run = [sys.executable, "-m", "flashgrep", "index", "--workdir", str(workspace)]
    subprocess.run([*run, "--state-dir", str(state)], check=True, stdout=subprocess.DEVNULL)
    (made,) = (state / "index").iterdir()
    shutil.copytree(made, target / "index")
    (target / "index" / "lock").unlink()


def main(target: Path) -> None:
    target.mkdir(parents=True)
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as scratch:
        write_kb(target, Path(scratch))
        write_index(target, Path(scratch))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
