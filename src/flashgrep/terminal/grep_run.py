"""One run of `flashgrep grep`: roots, candidates, hits, and the exit status they come to.

The session, which may have an index, says which files of a directory match. Their lines are then
read here, file by file, and printed as they come: no answer has to cross a socket, none is cut, and
a reader that has seen enough stops the rest.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.search.decode import TooSparse
from flashgrep.search.match_count import TooLargeForMultiline
from flashgrep.search.pattern import PatternSpec, has_angle_escapes
from flashgrep.search.result import walk_key
from flashgrep.settings import Settings
from flashgrep.terminal.command import FAILED, FOUND, NOTHING, Output, say, wants_color
from flashgrep.terminal.printing import (
    PATH,
    JsonPrinter,
    LinePrinter,
    Looking,
    Style,
    painted,
)
from flashgrep.terminal.session import Session
from flashgrep.workspace.scope import parse_name, shown_name
from flashgrep.workspace.text import is_text

if TYPE_CHECKING:
    from flashgrep.terminal.grep import Flags, Narrowing

_EVERYTHING = 2**31
_STDIN = b"<stdin>"


@dataclass(frozen=True)
class _Root:
    """A place to search: what its paths begin with, and where it is."""

    prefix: bytes
    path: bytes
    kind: str | None


class Grepping:
    """Runs a search and prints it."""

    def __init__(
        self, session: Session, settings: Settings, flags: Flags, narrowing: Narrowing
    ) -> None:
        self._session = session
        self._flags = flags
        self._workdir = os.path.abspath(os.fsencode(settings.workdir))
        self._narrowing = narrowing
        self._output = Output()
        self._color = flags.pretty or wants_color(flags.color)
        self._failed = False

    def run(self) -> int:
        """Search everything; the exit status."""
        found = self._list_files() if self._flags.files else self._search()
        self._output.flush()
        if self._failed and not (found and self._flags.quiet):
            return FAILED
        return FOUND if found else NOTHING

    # ── where ───────────────────────────────────────────────────────────────────────────────────

    def _roots(self) -> list[_Root]:
        if not self._flags.paths:
            return [self._root(b"", self._workdir, ".")]
        roots = []
        for text in self._flags.paths:
            raw = os.fsencode(text)
            roots.append(self._root(raw, os.path.join(self._workdir, raw), text))
        return roots

    def _root(self, prefix: bytes, path: bytes, text: str) -> _Root:
        try:
            place = self._session.scope.follow(path)
            kind = self._session.scope.kind(place)
        except FlashgrepError as error:
            self._fail(error.message)
            return _Root(prefix, path, None)
        if kind is None:
            self._fail(f"{shown_name(os.fsencode(text))}: No such file or directory")
        return _Root(prefix, place.path if kind == "directory" else path, kind)

    def _fail(self, message: str) -> None:
        self._failed = True
        say(message)

    def _label(self, root: _Root, relative: bytes) -> bytes:
        return os.path.join(root.prefix, relative)

    # ── which files ─────────────────────────────────────────────────────────────────────────────

    def _ask(self, root: _Root, method: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._session.call(method, {"path": shown_name(root.path), **arguments})
        for name, reason in answer.get("skipped", ()):
            label = self._label(root, parse_name(name) or os.fsencode(name))
            self._fail(f"{shown_name(label)}: {reason}")
        return answer

    def _is_workdir(self, root: _Root) -> bool:
        return root.path == os.path.realpath(self._workdir)

    def _wanted(
        self, root: _Root, shown: list[str], unfiltered: bool = False
    ) -> Iterator[tuple[str, bytes]]:
        """The paths that pass, in walk order: as the session names them, and as bytes."""
        narrowing = self._narrowing
        rest = narrowing.filters() if unfiltered else narrowing.rest(self._is_workdir(root))
        real = os.path.realpath(self._workdir)
        raw = [(name, parse_name(name) or os.fsencode(name)) for name in shown]
        for name, path in sorted(raw, key=lambda pair: walk_key(os.fsdecode(pair[1]))):
            full = root.path.rstrip(b"/") + b"/" + path
            relative = os.fsdecode(os.path.relpath(full, real)) if rest else ""
            if all(each.keeps(relative) for each in rest):
                yield name, path

    def _list_files(self) -> bool:
        found = False
        for root in self._roots():
            if root.kind == "file":
                found = True
                self._path_line(root.prefix)
            elif root.kind == "directory":
                asked = {"pattern": "**", "limit": _EVERYTHING, "sort_by": "path"}
                asked["follow_symlinks"] = True  # as a search follows them
                paths = self._ask(root, "glob", asked)["paths"]
                for _, path in self._wanted(root, paths, unfiltered=True):
                    found = True
                    self._path_line(self._label(root, path))
        return found

    def _path_line(self, label: bytes, more: bytes = b"") -> None:
        if self._flags.quiet:
            return
        shown = self._output.path(label)
        shown = painted(shown, PATH) if self._color else shown
        end = b"\0" if self._flags.null else b":" if more else b"\n"
        self._output.write(shown + end + (more + b"\n" if more else b""))

    # ── searching ───────────────────────────────────────────────────────────────────────────────

    def _search(self) -> bool:
        flags = self._flags
        spec = flags.pattern
        self._asked = {
            "pattern": spec.source,
            "case_insensitive": spec.case_insensitive,
            "multiline": spec.multiline,
        }
        before, after = flags.around
        self._looking = Looking(spec, before, after, flags.max_count or 0)
        if self._reads_stdin():
            return self._search_stdin()
        roots = self._roots()
        self._names_files = len(roots) > 1 or any(root.kind != "file" for root in roots)
        self._printer = self._make_printer(bool(before or after))
        found = False
        for root in roots:
            if root.kind == "directory":
                found |= self._directory(root)
            elif root.kind is not None:
                # As ripgrep: a file that is named is searched, whatever -g and -t say.
                found |= self._file(root.prefix, root.path, named=True)
            if found and flags.quiet:
                break
        self._printer.end()
        if not found and not flags.quiet:
            self._say_why(spec)
        return found

    def _say_why(self, spec: PatternSpec) -> None:
        """Say why there may be no match although one was expected."""
        if not spec.multiline and spec.needs_newline:
            say("the pattern needs a newline, and patterns match within a line; add -U")
        elif not self._flags.fixed_strings and has_angle_escapes(spec.source):
            say(r"\< and \> are the characters < and >; the border of a word is \b")

    def _make_printer(self, has_context: bool) -> LinePrinter | JsonPrinter:
        flags, output = self._flags, self._output
        if flags.as_json and not flags.quiet:
            return JsonPrinter(output, self._looking)
        pretty = output.is_terminal or flags.pretty
        heading = pretty if flags.heading is None else flags.heading
        numbers = pretty or flags.column if flags.line_number is None else flags.line_number
        filename = self._names_files if flags.with_filename is None else flags.with_filename
        if flags.vimgrep:
            heading, numbers, filename = False, True, flags.with_filename is not False
        style = Style(
            color=self._color,
            heading=heading and filename,
            filename=filename,
            numbers=numbers,
            column=flags.column or flags.vimgrep,
            only_matching=flags.only_matching,
            each_match=flags.vimgrep,
            context=has_context,
            null=flags.null,
        )
        return LinePrinter(output, self._looking, style)

    def _directory(self, root: _Root) -> bool:
        flags, narrowed = self._flags, self._narrowing.include(self._is_workdir(root))
        if flags.quiet and not self._narrowing.rest(self._is_workdir(root)):
            first = {"output_mode": "content", "head_limit": 1}
            return bool(self._ask(root, "grep", {**self._asked, **narrowed, **first})["matches"])
        if flags.count and not (flags.only_matching or flags.files_with_matches):
            counting = {"output_mode": "count"}
            rows = self._ask(root, "grep", {**self._asked, **narrowed, **counting})["counts"]
            counts = {row["file_path"]: row["count"] for row in rows}
            return self._show_counts(root, counts)
        paths = self._ask(root, "grep", {**self._asked, **narrowed})["paths"]
        found = False
        for _, path in self._wanted(root, paths):
            label = self._label(root, path)
            if flags.files_with_matches:
                self._path_line(label)
                found = True
            else:
                full = root.path.rstrip(b"/") + b"/" + path
                found |= self._file(label, full)
            if found and flags.quiet:
                break
        return found

    def _show_counts(self, root: _Root, counts: Mapping[str, int]) -> bool:
        found = False
        most = self._flags.max_count or _EVERYTHING
        for name, path in self._wanted(root, list(counts)):
            found = True
            self._path_line(self._label(root, path), b"%d" % min(counts[name], most))
        return found

    # ── one file ────────────────────────────────────────────────────────────────────────────────

    def _file(self, label: bytes, path: bytes, named: bool = False) -> bool:
        scope = self._session.scope
        try:
            fd, status = scope.open_regular(scope.follow(path))
        except FlashgrepError as error:
            # A file that is gone since it was found is skipped; one that was named is an error.
            if named:
                self._fail(error.message)
            return False
        try:
            if named and not is_text(os.pread(fd, limits.SNIFF_BYTES, 0)):
                say(f"{shown_name(label)}: a binary file, not searched")
                return False
            return self._descriptor(label, fd, status.st_size)
        except (TooLargeForMultiline, TooSparse):
            self._fail(f"{shown_name(label)}: too large for this search")
            return False
        finally:
            os.close(fd)

    def _descriptor(self, label: bytes, fd: int, size: int) -> bool:
        flags = self._flags
        hits = self._looking.hits(fd)
        if flags.quiet or flags.files_with_matches:
            found = next(hits, None) is not None
            if found and flags.files_with_matches:
                self._path_line(label)
            return found
        if flags.count or flags.count_matches:
            return self._count(label, fd)
        return self._printer.show(label, hits, size) > 0

    def _count(self, label: bytes, fd: int) -> bool:
        flags, total = self._flags, 0
        by_match = flags.count_matches or flags.only_matching or self._looking.spec.multiline
        for hit in self._looking.hits(fd):
            if hit.is_match:
                total += self._looking.count(hit) if by_match else 1
        if total:
            shown = self._names_files if flags.with_filename is None else flags.with_filename
            number = b"%d" % total
            self._path_line(label, number) if shown else self._output.write(number + b"\n")
        return total > 0

    # ── standard input ──────────────────────────────────────────────────────────────────────────

    def _reads_stdin(self) -> bool:
        """Whether what is piped to us is meant, decided as ripgrep does."""
        if self._flags.paths:
            return self._flags.paths == ("-",)
        try:
            mode = os.fstat(sys.stdin.fileno()).st_mode
        except (OSError, ValueError, AttributeError):
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)

    def _search_stdin(self) -> bool:
        self._names_files = False
        self._printer = self._make_printer(any(self._flags.around))
        with tempfile.TemporaryFile(prefix="flashgrep-") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
            spool.flush()
            found = self._descriptor(_STDIN, spool.fileno(), spool.tell())
        self._printer.end()
        return found
