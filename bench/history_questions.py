"""Questions made from a repository's history, so that anyone can check `query` on their own code.

A commit's subject says in a few words what is done, and the files it changed are where. So the tree
of an earlier commit is searched for the subject of a later one, without whatever gives the answer
away: numbers of issues, paths, file names, the scope before a colon.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMMITS: Final = 300
"""How far back the tree is that is searched, along the first parents."""
MOST: Final = 50
"""Questions of a repository; of more, so many are drawn."""
SEED: Final = 15

_MOST_FILES: Final = 3
"""A commit that changes more is about no place in particular."""
_LEAST_WORDS: Final = 4
_SOURCE: Final = re.compile(
    r"\.(?:c|cc|cpp|cxx|h|hh|hpp|m|mm|cs|java|kt|kts|scala|groovy|clj|go|rs|swift|zig|d|nim|py|pyx"
    r"|rb|php|pl|pm|lua|r|jl|ex|exs|erl|hs|ml|mli|fs|dart|js|jsx|mjs|cjs|ts|tsx|mts|cts|vue|svelte"
    r"|sh|bash|el|vim|sql|s|asm)$",
    re.IGNORECASE,
)
_BESIDE: Final = re.compile(
    r"(?:^|/)(?:[\w.-]*[-_.])?(?:tests?|specs?|testing|testdata|fixtures?|mocks?|examples?|samples?"
    r"|docs?|benchmarks?|benches|vendor|third_party|node_modules|dist)(?:[-_.][\w.-]*)?/"
    r"|(?:^|[/_.-])(?:tests?|specs?|conftest)[_.-][^/]*$|[_.-](?:test|spec)s?\.\w+$"
    r"|(?-i:[a-z](?:Tests?|Spec)\.\w+$)",
    re.IGNORECASE,
)
_SCOPE: Final = re.compile(r"^(?:\[[^\]]*\]\s*)*[^:]{1,40}?:\s+|^(?:\[[^\]]*\]\s*)+")
_GIVEN_AWAY: Final = re.compile(
    r"\(?(?:\w+\s+)?#\d+\)?"  # numbers of issues, with a "fixes" before them
    r"|\S+://\S+|\S*\w/\S*|\S*/\w\S*"  # addresses and paths
    r"|\b[\w-]+\.(?:c|cc|cpp|h|hpp|cs|java|kt|go|rs|py|rb|php|js|jsx|mjs|ts|tsx|vue|md|rst|json"
    r"|ya?ml|toml|txt|html|css|sh)\b"
)
_PASSED_OVER: Final = re.compile(r"^(?:revert|merge|bump|release|prepare|version)\b", re.IGNORECASE)


@dataclass(frozen=True)
class HistoryQuestion:
    """What a later commit did, and the files it changed: any of them is right."""

    text: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class History:
    """The questions about one tree of a repository."""

    repository: Path
    commit: str
    """Whose tree is searched."""
    questions: tuple[HistoryQuestion, ...]
    made: int
    """How many there were to draw from."""


def questions_of(repository: Path, tip: str = "HEAD", seed: int = SEED) -> History:
    """Questions from the commits before `tip`; the same ones for the same tip and seed."""
    commits = _git(repository, "rev-list", "--first-parent", f"-{COMMITS + 1}", tip).split()
    if len(commits) < 2:
        raise SystemExit(f"{repository}: one commit is no history to ask questions from")
    base = commits[-1]
    there = set(_git(repository, "ls-tree", "-r", "-z", "--name-only", base).split("\0"))
    made: dict[str, HistoryQuestion] = {}
    for subject, files in _changes(repository, f"{base}..{tip}"):
        question = _question(subject, files, there)
        if question is not None:
            made.setdefault(question.text, question)
    drawn = list(made.values())
    if len(drawn) > MOST:
        chosen = sorted(random.Random(seed).sample(range(len(drawn)), MOST))
        drawn = [drawn[at] for at in chosen]
    return History(repository, base, tuple(drawn), len(made))


def asked(subject: str) -> str:
    """A subject as a question: without what gives the answer away."""
    bare = _GIVEN_AWAY.sub(" ", _SCOPE.sub("", subject.replace("`", "")))
    return " ".join(bare.split()).strip(" .")


def is_source(path: str) -> bool:
    """Whether a file can be a right answer: code, and neither test, sample nor somebody else's."""
    return _SOURCE.search(path) is not None and _BESIDE.search(path) is None


def _question(subject: str, files: list[str], there: set[str]) -> HistoryQuestion | None:
    text = asked(subject)
    sources = [path for path in files if is_source(path)]
    if _PASSED_OVER.search(text) or _PASSED_OVER.search(subject):
        return None
    if len(text.split()) < _LEAST_WORDS or not 1 <= len(sources) <= _MOST_FILES:
        return None
    right = tuple(path for path in sources if path in there)
    return HistoryQuestion(text, right) if right else None


def _changes(repository: Path, span: str) -> Iterator[tuple[str, list[str]]]:
    """The subject of each commit, oldest first, and the files it changed."""
    log = _git(
        repository, "log", "--reverse", "--no-merges", "--name-only", "-z", "--format=%x01%s", span
    )
    for entry in log.split("\x01")[1:]:
        subject, *files = (part.strip("\n") for part in entry.split("\0"))
        yield subject, [path for path in files if path]


def check_out(history: History, tree: Path) -> None:
    """A clone of the repository as it was then: with the commits up to the tree, and no later."""
    _output(
        Path.cwd(),
        "clone",
        "--quiet",
        "--shared",
        "--no-checkout",
        str(history.repository.resolve()),
        str(tree),
    )
    _git(tree, "checkout", "--quiet", "--detach", history.commit)


def _git(repository: Path, *words: str) -> str:
    return _output(repository, *words).decode("utf-8", "surrogateescape")


def _output(repository: Path, *words: str) -> bytes:
    command = ["git", "-C", str(repository), "-c", "core.quotePath=false", *words]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()
        raise SystemExit(f"{repository}: git {words[0]} failed: {why}; name a whole clone")
    return done.stdout
