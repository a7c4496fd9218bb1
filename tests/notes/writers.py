"""Processes to be killed: five writers on one knowledge base, who say what they know is kept.

    python -m tests.notes.writers

A line `["HOME", "SEED"]` on stdin starts one, by fork: to start Python anew takes longer than all
that is written before the kill. Lines on stdout, each written when it is true:

    ! PID           the process that is to be killed
    + NOTE WORD     the word is a line of the note
    ? NOTE WORD     the word is about to be deleted
    - NOTE WORD     the word is deleted
    * NOTE          the note was made
    .               it was killed, and nothing more comes from it

Two writers are agents, two are Yjs peers with documents of their own, the fifth makes notes and
compacts them. A word is written once, and only ever as a line of its own.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from pycrdt import Doc, Text

from flashgrep.notes.document import loading
from flashgrep.notes.document.note import CONTENTS, Amendment
from flashgrep.notes.document.text import SharedText, TextSplice
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library


def say(sign: str, note: str, word: str = "") -> None:
    os.write(1, f"{sign} {note} {word}\n".encode())


class Writer:
    """What the five have in common: chance, and words that nobody else has."""

    def __init__(self, notes: KnowledgeBase, name: str, seed: str) -> None:
        self.notes = notes
        self.chance = Random(seed + name)
        self._word = f"{name}-{seed}-😀-"
        self._count = 0

    def word(self) -> str:
        self._count += 1
        return f"{self._word}{self._count}"

    def line(self, text: str) -> int:
        """Where a line of a text begins."""
        starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
        return self.chance.choice(starts)

    def pick(self) -> str:
        return self.chance.choice(self.notes.ask(lambda library: library.catalogue.entries())).id


def agent(notes: KnowledgeBase, name: str, seed: str) -> None:
    """Inserts lines where the text has them now."""
    writer = Writer(notes, name, seed)
    while True:
        note, word = writer.pick(), writer.word()

        def plan(text: str, _: object, word: str = word) -> Amendment:
            at = writer.line(text)
            return Amendment([TextSplice(at, at, word + "\n")])

        notes.ask(partial(Library.amend, note=note, plan=plan, author=name))
        say("+", note, word)


def peer(notes: KnowledgeBase, name: str, seed: str) -> None:
    """Types into a document of its own and sends what comes of it; deletes its words too."""
    writer = Writer(notes, name, seed)
    while True:
        note = writer.pick()
        doc: Doc[Text] = Doc()
        text = SharedText(doc.get(CONTENTS, type=Text))
        doc.apply_update(notes.ask(partial(Library.missing, note=note, state=b"\0")))
        updates: list[bytes] = []
        watch = doc.observe(lambda event, updates=updates: updates.append(event.update))
        own: list[str] = []

        def send(note: str = note, updates: list[bytes] = updates) -> None:
            sent = list(updates)
            updates.clear()
            notes.ask(partial(Library.receive, note=note, updates=sent, author=name))

        for _ in range(writer.chance.randint(1, 12)):
            if own and writer.chance.random() < 0.3:
                word = own.pop()
                at = text.read().index(word + "\n")
                say("?", note, word)
                text.splice([TextSplice(at, at + len(word) + 1)])
                send()
                say("-", note, word)
            else:
                word, at = writer.word(), writer.line(text.read())
                text.splice([TextSplice(at, at, word + "\n")])
                send()
                say("+", note, word)
                own.append(word)
        doc.unobserve(watch)


def librarian(notes: KnowledgeBase, name: str, seed: str) -> None:
    """Makes notes, compacts them, and goes back to nothing."""
    writer = Writer(notes, name, seed)
    while True:
        word = writer.word()
        made = notes.ask(partial(Library.create, path=f"{word}.md", text=word + "\n", author=name))
        say("*", made.id)
        say("+", made.id, word)
        for _ in range(10):
            note = writer.pick()
            notes.ask(partial(Library.compact, note=note))


ROLES: tuple[tuple[str, Callable[[KnowledgeBase, str, str], None]], ...] = (
    ("agent1", agent),
    ("agent2", agent),
    ("peer1", peer),
    ("peer2", peer),
    ("librarian", librarian),
)


def write(home: str, seed: str) -> None:
    """Write until killed."""
    loading.COMPACT_RECORDS = 15  # type: ignore[misc]
    notes = KnowledgeBase(Path(home))
    if not notes.ask(lambda library: library.catalogue.entries()):
        for number in range(3):
            notes.ask(partial(Library.create, path=f"{number}.md"))
    threads = [threading.Thread(target=role, args=(notes, name, seed)) for name, role in ROLES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """Start writers as asked, one process after the other."""
    for line in sys.stdin:
        if child := os.fork():
            os.waitpid(child, 0)
            say(".", "")
        else:
            try:
                say("!", str(os.getpid()))
                write(*json.loads(line))
            finally:
                os._exit(1)


if __name__ == "__main__":
    main()
