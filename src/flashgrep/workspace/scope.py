r"""What is reachable: allowed directories, denied patterns, and the opens that enforce them.

A `ResolvedPath` is where an argument leads once every link is followed. Permission is judged on
that real path, and the open that follows goes beneath the allowed directory's descriptor and
through no link, so it reaches that very path or fails. If the tree moved meanwhile, the argument is
resolved and judged again.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    InvalidParams,
    IOFailure,
    NotFound,
    SettingsError,
    from_os_error,
)
from flashgrep.workspace.globs import DenyRules
from flashgrep.workspace.safe_open import (
    DIRECTORY,
    MOVED,
    O_PATH,
    REGULAR,
    STEP,
    Beyond,
    Denied,
    descend,
    open_beneath,
    resolve,
    rises_outside,
)

# ── names on the wire ────────────────────────────────────────────────────────────────────────────
# File names on the wire: any bytes in, printable text out, and back again without loss.
#
# A name is bytes. Answers are UTF-8 text, one path a line, so what would break either is escaped:
#
#     \\            a backslash
#     \n \t \r      those controls
#     \xNN          any other control byte, any byte that is not UTF-8, and each byte of a character
#                   that could forge a line or turn text around (U+0085, U+2028, bidi controls …)
#
# `shown_name` writes that form, `parse_name` reads it. A text that `shown_name` could not have
# written is a plain name: a person who types `dir\name` for a file so called is understood too.


_PLAIN: Final = re.compile(rb"[\x20-\x5b\x5d-\x7e]*")
_UNSAFE: Final = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\\\\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
_ESCAPE: Final = re.compile(r"\\(?:([\\ntr])|x([0-9a-f]{2}))")
_SHORT: Final = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONG: Final = {"\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def shown_name(name: bytes) -> str:
    """The printable form of a name or path."""
    if _PLAIN.fullmatch(name):
        return name.decode("ascii")
    pieces = []
    for character in name.decode("utf-8", "surrogateescape"):
        if "\udc80" <= character <= "\udcff":
            pieces.append(f"\\x{ord(character) - 0xDC00:02x}")
        elif _UNSAFE.fullmatch(character):
            pieces.append(_escaped(character))
        else:
            pieces.append(character)
    return "".join(pieces)


def shown_path(path: str) -> str:
    """The printable form of a path that was read from a directory."""
    return path if _is_plain(path) else shown_name(path.encode("utf-8", "surrogateescape"))


def shown_paths(paths: list[str]) -> list[str]:
    """The printable forms of many: most lists have nothing to escape, and are long."""
    return paths if _is_plain("".join(paths)) else list(map(shown_path, paths))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and "\\" not in text


def _escaped(character: str) -> str:
    short = _SHORT.get(character)
    return short or "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8"))


def parse_name(text: str) -> bytes | None:
    """The name that `shown_name` prints as `text`, or None where it prints none so."""
    if "\\" not in text:
        return text.encode("utf-8")
    raw = _ESCAPE.sub(_unescaped, text).encode("utf-8", "surrogateescape")
    return raw if shown_name(raw) == text else None


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return _LONG[match[1]]
    return bytes.fromhex(match[2]).decode("ascii", "surrogateescape")


def has_control(text: str) -> bool:
    """Whether a text holds raw control characters, which no path argument may."""
    return _CONTROL.search(text) is not None


# ── scope ────────────────────────────────────────────────────────────────────────────────────────


OWN_DIRECTORY = b".flashgrep"
"""Denied wherever it is: it holds sockets and tokens."""
_ATTEMPTS = 32

PackedScope = tuple[bytes, tuple[bytes, ...], tuple[str, ...], tuple[bytes, ...]]


@dataclass(frozen=True)
class ResolvedPath:
    """Where an argument leads: how the caller named it, and the real path."""

    shown: str
    path: bytes
    asked: bytes = field(default=b"", compare=False)


class Scope:
    """The reachable part of the file system."""

    def __init__(
        self,
        workdir: str,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        always_denied: Sequence[bytes] = (),
    ) -> None:
        self._slash = os.open("/", STEP)
        self.workdir = _existing_directory(workdir, "--workdir")
        self.allowed = tuple(_existing_directory(path, "--allow-dir") for path in allow)
        self.denied = tuple(deny)
        self.always_denied = tuple(always_denied)
        self.packed: PackedScope = self.workdir, self.allowed, self.denied, self.always_denied
        """The scope as plain data, for another process."""
        try:
            self._deny = DenyRules(deny, self.workdir)
        except InvalidParams as error:
            raise SettingsError(f"--deny-dir: {error.message}") from None
        self._spelled = _spelled(zip((workdir, *allow), (self.workdir, *self.allowed), strict=True))
        self._roots = [(path, os.open(path, STEP)) for path in self.allowed or (b"/",)]

    @classmethod
    def unpacked(cls, packed: PackedScope) -> Scope:
        """The same scope again, with descriptors of its own."""
        workdir, allowed, denied, always_denied = packed
        return cls(os.fsdecode(workdir), [*map(os.fsdecode, allowed)], denied, always_denied)

    def close(self) -> None:
        """Give the directory descriptors back."""
        for fd in (self._slash, *(fd for _, fd in self._roots)):
            os.close(fd)
        self._roots = []

    # ── where does an argument lead ─────────────────────────────────────────────────────────────

    def place(self, text: str) -> ResolvedPath:
        """Resolve a path argument and judge it; what it names may not exist."""
        _check_argument(text)
        decoded = parse_name(text)
        if decoded is not None and b"\0" in decoded:
            raise InvalidParams(f"path names a NUL byte: {text}. No file name holds one")
        literal = text.encode("utf-8")
        place = self._place(shown_name(literal), decoded if decoded is not None else literal)
        if decoded not in (None, literal) and self.kind(place) is None:
            return self._place(shown_name(literal), literal)
        return place

    def follow(self, path: bytes) -> ResolvedPath:
        """The place an absolute path leads to, as a walk meets it."""
        return self._place(shown_name(path), path)

    def _place(self, shown: str, raw: bytes) -> ResolvedPath:
        asked = raw if raw.startswith(b"/") else self.workdir + b"/" + raw
        try:
            real = self._resolved(asked)
        except Beyond:
            raise self._outside(shown) from None
        except Denied:
            raise _denied(shown) from None
        except OSError as error:
            raise self._unresolved(error, shown) from None
        self._judge(real, shown)
        if raw.endswith((b"/", b"/.")) and self.kind(ResolvedPath(shown, real)) not in (
            "directory",
            None,
        ):
            raise NotFound(f"Path not found: {shown} (it ends in / and is not a directory)")
        return ResolvedPath(shown, real, asked)

    def _resolved(self, asked: bytes) -> bytes:
        if self.allowed and b".." in asked.split(b"/"):
            asked = self._by_real_name(asked)
            if rises_outside(self, asked):
                raise Beyond
        return resolve(self._slash, asked, self)

    def _by_real_name(self, asked: bytes) -> bytes:
        """A path that begins with a directory as it was given to us, with its real name instead."""
        for spelled, real in self._spelled:
            if is_within(asked, spelled):
                return real + asked[len(spelled) :]
        return asked

    def _unresolved(self, error: OSError, shown: str) -> Exception:
        # Inside a scope a broken path reveals nothing of what is outside it.
        if self.allowed:
            return AccessDenied(f"Access denied: {shown} cannot be resolved inside the scope")
        if error.errno == errno.ELOOP:
            return NotFound(f"Path not found: {shown} (too many symbolic links)")
        return from_os_error(error, shown)

    def _judge(self, real: bytes, shown: str) -> None:
        if not self.contains(real):
            raise self._outside(shown)
        if self.denies(real):
            raise _denied(shown)

    def _outside(self, shown: str) -> AccessDenied:
        allowed = ", ".join(shown_name(path) for path in self.allowed)
        return AccessDenied(
            f"Access denied: {shown} is outside the allowed directories. Allowed: {allowed}"
        )

    def permits(self, path: bytes) -> bool:
        """Whether a real path is allowed and not denied."""
        return self.contains(path) and not self.denies(path)

    def knows(self, path: bytes) -> bool:
        """Whether a real path is allowed, or a directory above what is: that one exists."""
        return self.contains(path) or any(is_within(root, path) for root in self.allowed)

    def contains(self, path: bytes) -> bool:
        """Whether a real path is allowed, whatever is denied."""
        return not self.allowed or any(is_within(path, root) for root in self.allowed)

    def denies(self, path: bytes) -> bool:
        """Whether a real path is denied, whatever is allowed."""
        if OWN_DIRECTORY in path.split(b"/"):
            return True
        if any(is_within(path, own) for own in self.always_denied):
            return True
        return bool(self.denied) and self._deny.denies(path)

    def denies_below(self, path: bytes) -> bool:
        """Whether entries below `path` must be judged one by one; walks know our own by name."""
        return bool(self.denied) or any(is_within(own, path) for own in self.always_denied)

    # ── opening ─────────────────────────────────────────────────────────────────────────────────

    def open(self, place: ResolvedPath, flags: int, mode: int = 0) -> int:
        """Open a place through no link; OSError as the kernel says it."""

        def attempt(now: ResolvedPath) -> int:
            return open_beneath(*self._beneath(now.path), flags, mode)

        return self._opened(place, attempt)[0]

    def _opened(
        self, place: ResolvedPath, attempt: Callable[[ResolvedPath], int]
    ) -> tuple[int, ResolvedPath]:
        """What `attempt` opens, and where; a place that moved is resolved and judged anew."""
        error: OSError | None = None
        for _ in range(_ATTEMPTS):
            try:
                return attempt(place), place
            except OSError as caught:
                error = caught
            if error.errno not in MOVED:
                break
            again = self._place(place.shown, place.asked or place.path)
            if again.path == place.path and error.errno in (errno.ENOENT, errno.ENOTDIR):
                break
            place = again
        raise error if error is not None else OSError(errno.EAGAIN, "the tree keeps moving")

    def open_real(self, path: bytes, flags: int) -> int:
        """Open a real path as a walk has it, through no link, without checking it again."""
        return open_beneath(*self._beneath(path), flags)

    def _beneath(self, path: bytes) -> tuple[int, bytes]:
        for root, fd in self._roots:
            if is_within(path, root):
                return fd, path[len(root) :].lstrip(b"/")
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)

    def status(self, place: ResolvedPath) -> os.stat_result | None:
        """The status of a place, or None where nothing is."""
        try:
            fd = self.open(place, O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise from_os_error(error, place.shown) from None
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def kind(self, place: ResolvedPath) -> str | None:
        """`file`, `directory`, `other`, or None where nothing is."""
        status = self.status(place)
        if status is None:
            return None
        if stat.S_ISREG(status.st_mode):
            return "file"
        return "directory" if stat.S_ISDIR(status.st_mode) else "other"

    def open_regular(self, place: ResolvedPath, write: bool = False) -> tuple[int, os.stat_result]:
        """Open a regular file; anything else is refused without being touched.

        Its kind is read by `O_PATH` first: opening a device can have side effects.
        """
        _require_regular(self.kind(place), place)
        flags = (REGULAR & ~os.O_ACCMODE) | (os.O_RDWR if write else os.O_RDONLY)
        try:
            fd = self.open(place, flags)
        except OSError as error:
            raise from_os_error(error, place.shown) from None
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise IOFailure(f"{place.shown} changed while it was opened; try again")
        return fd, status

    def open_directory(self, place: ResolvedPath) -> int:
        """Open a directory for listing."""
        try:
            return self.open(place, DIRECTORY)
        except OSError as error:
            raise from_os_error(error, place.shown) from None

    def open_parent(self, place: ResolvedPath, create: bool = False) -> tuple[int, ResolvedPath]:
        """Open the directory of a place; `create` makes parents.

        Gives the place as it is now: when the tree moved, all of it is judged anew and not the
        directory alone, for the same name may be denied where the directory leads now.
        """
        try:
            return self._opened(place, lambda now: self._open_parent(now, create))
        except OSError as error:
            raise from_os_error(error, place.shown) from None

    def _open_parent(self, place: ResolvedPath, create: bool) -> int:
        parent, _, name = place.path.rpartition(b"/")
        if not name or not self.contains(parent or b"/"):
            raise InvalidParams(f"{place.shown} is a directory, not a file")
        try:
            return open_beneath(*self._beneath(parent or b"/"), DIRECTORY)
        except FileNotFoundError:
            if not create:
                raise
        root, relative = self._beneath(parent)
        return descend(root, filter(None, relative.split(b"/")), create=True)


def _denied(shown: str) -> AccessDenied:
    # Judged by the name the caller used alone: the same words whether or not the place exists.
    if os.fsdecode(OWN_DIRECTORY) in shown.split("/"):
        return AccessDenied(f"Access denied: {shown} is kept by flashgrep itself")
    return AccessDenied(
        f"Access denied: {shown} matches a pattern of --deny-dir, or is kept by flashgrep itself"
    )


def _spelled(given: Iterable[tuple[str, bytes]]) -> list[tuple[bytes, bytes]]:
    """Directories as they were given, where that is not their real name; the longest first."""
    absolute = {os.path.abspath(os.fsencode(text)): real for text, real in given}
    unlike = [(text, real) for text, real in absolute.items() if text != real]
    return sorted(unlike, key=lambda pair: -len(pair[0]))


def _require_regular(kind: str | None, place: ResolvedPath) -> None:
    if kind is None:
        raise NotFound(f"Path not found: {place.shown}")
    if kind == "directory":
        raise InvalidParams(f"{place.shown} is a directory, not a file")
    if kind == "other":
        raise InvalidParams(f"{place.shown} is not a regular file (a pipe, socket or device)")


def is_within(path: bytes, root: bytes) -> bool:
    """Whether `path` is `root` or below it, by component."""
    return root == b"/" or path == root or path.startswith(root + b"/")


def _existing_directory(text: str, flag: str) -> bytes:
    real = os.path.realpath(os.fsencode(text))
    if not os.path.isdir(real):
        raise SettingsError(f"{flag}: {text!r} is not an existing directory")
    return real


def _check_argument(text: str) -> None:
    if not text:
        raise InvalidParams("path must not be empty; use . for the working directory")
    if len(text) > limits.PATH_CHARS:
        raise InvalidParams(
            f"path has {len(text):,} characters; the longest accepted is {limits.PATH_CHARS:,}"
        )
    if has_control(text):
        raise InvalidParams(
            f"path holds a control character: {shown_name(text.encode('utf-8'))}. "
            "Name such files the way glob and grep print them (\\n, \\t, \\xNN)"
        )
