"""What a tree's newest commits say and changed, according to git itself.

Everything else in this folder reads git's files. Here that would mean most of git: packs, deltas,
the differences of trees. So `git log` is run, once each time HEAD moves: 0.1 to 0.4 s for 2,000
commits. Without git, or outside a repository, there are no commits.

A workspace may be anybody's, and its configuration can name programs. Those that `git log` would
run are switched off: the signature checker, the file system monitor, and transports that fetch what
a partial clone lacks. Variables that point git elsewhere are not passed on.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from flashgrep import limits
from flashgrep.index.git.repository import GitRepository, repository_of, small_file
from flashgrep.ranking.commits import COMMITS, Commit, CommitWords

FIRST_SECONDS: Final = 1.0
"""So long the first question waits for the commits; then it is answered without them."""

_LOG_SECONDS: Final = 20.0
_LOG_BYTES: Final = 16 * limits.MIB
"""Output of git beyond this time or size is not read; the newest commits come first."""
_NICE: Final = 10
_CHUNK: Final = limits.MIB

_SAFELY: Final = (
    "log.showSignature=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
)
_PLAINLY: Final = ("log.follow=false", "log.showRoot=true", "diff.relative=false")
"""Settings, the user's too, that change which names git lists."""

_LOG: Final = (
    "log",
    f"--max-count={COMMITS}",
    "--no-merges",
    "--name-only",
    "-z",
    "--format=%x01%s",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-mailmap",
    "--no-notes",
    "--no-color",
    "--encoding=UTF-8",
    "-O/dev/null",
)
_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

log = logging.getLogger(__name__)

MayRead = Callable[[bytes], bool]


class CommitHistory:
    """The words of a workspace's commits, read again when HEAD has moved.

    Only a question reads them: a server without questions starts no git.
    """

    def __init__(self, workdir: bytes, may_read: MayRead = lambda path: True) -> None:
        """Nothing is read of a repository that `may_read` refuses."""
        self._workdir = workdir
        self._may_read = may_read
        self._lock = threading.Lock()
        self._words: CommitWords | None = None
        self._head: object = None
        """What HEAD was when the words were read."""
        self._reading: threading.Event | None = None

    def words(self) -> CommitWords | None:
        """What is known now; None where there are no commits, or not yet."""
        repository = repository_of(self._workdir)
        if repository is None or not self._may_read(repository.common):
            return None
        head = head_of(repository)
        with self._lock:
            if head != self._head and self._reading is None:
                self._reading = threading.Event()
                threading.Thread(
                    target=self._read, args=(repository, head), name="flashgrep-log", daemon=True
                ).start()
            reading, is_first = self._reading, self._head is None
        if reading is not None and is_first:
            reading.wait(FIRST_SECONDS)
        return self._words

    def _read(self, repository: GitRepository, head: object) -> None:
        words = None
        try:
            words = CommitWords(commits_of(repository, self._workdir))
        except OSError as error:
            log.info("query goes without commits: git: %s", error)
        finally:
            with self._lock:
                self._words, self._head = words, head
                reading, self._reading = self._reading, None
            if reading is not None:
                reading.set()


def head_of(repository: GitRepository) -> tuple[object, ...]:
    """Something that is another when HEAD names another commit; its id is not needed."""
    named = small_file(os.path.join(repository.private, b"HEAD")) or b""
    reference = named.removeprefix(b"ref: ").strip()
    loose = [
        small_file(os.path.join(place, reference))
        for place in dict.fromkeys((repository.private, repository.common))
        if named.startswith(b"ref: ") and b".." not in reference
    ]
    # A branch that is not in a file of its own is in one of these, which are replaced whole.
    packed = [
        _status(repository.common, name) for name in (b"packed-refs", b"reftable/tables.list")
    ]
    return named, *loose, *packed


def _status(directory: bytes, name: bytes) -> tuple[int, int, int] | None:
    try:
        status = os.stat(os.path.join(directory, name))
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def commits_of(repository: GitRepository, workdir: bytes) -> Iterator[Commit]:
    """The newest commits that changed files of the workspace, newest first."""
    if _has_none(repository):
        return
    below = (b"--full-diff", b"--", b".") if repository.prefix else ()
    for entry in _said(workdir, below).split(b"\x01")[1:]:
        subject, *changed = entry.split(b"\0")
        names = [name.lstrip(b"\n") for name in changed if name.strip(b"\n")]
        yield Commit(
            subject=subject.decode("utf-8", "replace"),
            files=[
                name[len(repository.prefix) :].decode("utf-8", "surrogateescape")
                for name in names
                if name.startswith(repository.prefix)
            ],
            changed=len(names),
        )


def _has_none(repository: GitRepository) -> bool:
    """Whether HEAD names a branch that nothing was committed to: git would fail, and log that."""
    named, *loose, packed, tables = head_of(repository)
    if not loose or tables is not None or any(one is not None for one in loose):
        return False
    if packed is None:
        return True
    assert isinstance(named, bytes)  # noqa: S101
    reference = named.removeprefix(b"ref: ").strip()
    return reference not in (small_file(os.path.join(repository.common, b"packed-refs")) or named)


def _said(workdir: bytes, below: tuple[bytes, ...]) -> bytes:
    """What git says, as far as time and room allow, without the last entry if it was cut."""
    import subprocess  # here, not above: a server without questions does without

    given = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    safely = [word for setting in (*_SAFELY, *_PLAINLY) for word in ("-c", setting)]
    process = subprocess.Popen(
        ["git", *safely, *_LOG, *below],
        cwd=workdir,
        env=given | _ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    late = threading.Timer(_LOG_SECONDS, process.kill)
    late.daemon = True
    late.start()
    said = bytearray()
    with process:
        assert process.stdout is not None  # noqa: S101
        while len(said) <= _LOG_BYTES and (chunk := process.stdout.read(_CHUNK)):
            said += chunk
        is_long = len(said) > _LOG_BYTES
        if is_long:
            process.kill()
    late.cancel()
    if not is_long and not process.returncode:
        return bytes(said)
    log.info("git log ended with %s after %d bytes", process.returncode, len(said))
    return bytes(said[: said.rfind(b"\x01")]) if b"\x01" in said else b""
