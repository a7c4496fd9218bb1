"""Repositories made by git itself, for what reads its files."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from flashgrep.index.git.repository import GitRepository, repository_of
from flashgrep.index.watch.changes import Identity, identity

_SETTLED_SECONDS = 0.05


class Repo:
    """A working tree, and git in it."""

    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        if not (top / ".git").exists():
            top.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", *options)

    def git(self, *arguments: str, text: str = "") -> str:
        """Run git, by no settings but the repository's own."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.top,
            env=environment(self.top),
            input=text,
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
        return done.stdout

    def write(self, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def commit(self, files: dict[str, bytes] | None = None) -> None:
        """Commit everything; the entries of the index are no longer racy then."""
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x", "--allow-empty")
        self.settle()

    def settle(self) -> None:
        """Have the index written again, clearly after every file."""
        time.sleep(_SETTLED_SECONDS)
        self.git("update-index", "--force-write-index")

    def worktree(self, place: Path, *arguments: str) -> Repo:
        """Another working tree of the repository."""
        self.git("worktree", "add", "--quiet", "--detach", str(place), *arguments)
        return Repo(place)

    @property
    def found(self) -> GitRepository:
        repository = repository_of(os.path.realpath(os.fsencode(self.top)))
        assert repository is not None
        return repository

    def id_of(self, name: str) -> bytes:
        """The id of a file's bytes as they are on disk."""
        return bytes.fromhex(self.git("hash-object", "--no-filters", "--", name).strip())

    def statuses(self) -> dict[str, Identity]:
        """The files of the tree as a listing has them."""
        return {
            os.path.relpath(os.path.join(root, name), self.top): identity(
                os.lstat(os.path.join(root, name))
            )
            for root, _, names in os.walk(self.top)
            if ".git" not in root.split("/")
            for name in names
            if name != ".git"
        }


def environment(home: Path) -> dict[str, str]:
    """One in which git and we read no settings of the machine's user."""
    names = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    mails = {"GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_EMAIL": "a@b"}
    settings = {"GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null"}
    path = {"PATH": os.environ["PATH"], "HOME": str(home / ".git" / "home")}
    return names | mails | settings | path
