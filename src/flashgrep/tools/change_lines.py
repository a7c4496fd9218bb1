"""Replaces lines of files: in one file, or in several as a batch.

A replacement is text. One newline at its end ends its last line and adds no empty one, so the
content of get_slice can be sent back unchanged, with a newline at the end or without. The file's
own last line keeps its end, or its lack of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from flashgrep import limits
from flashgrep.errors import (
    Conflict,
    FlashgrepError,
    InvalidParams,
    IOFailure,
    PreconditionFailed,
    TooLarge,
)
from flashgrep.limits import size_text
from flashgrep.tools.change_text import Current, current_of, is_still, replace, require_size
from flashgrep.tools.dispatch.call import Call
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.tools.dispatch.spec import Parameter, file_path_row
from flashgrep.tools.format import source
from flashgrep.tools.mounts.files import missing
from flashgrep.workspace.scope import ResolvedPath
from flashgrep.workspace.text import Edit, TextFile, decode, display, is_text, normalised
from flashgrep.workspace.write.intents import BatchRecord, FileChange, promised
from flashgrep.workspace.write.replace import ReplaceTarget, TargetChanged

_FINAL_END = re.compile(r"\r?\n\Z")


@dataclass(frozen=True)
class LineSplice:
    """Lines to replace, and what must be true of the file first."""

    start: int
    end: int
    replacement: str
    precondition: Mapping[str, str | None]

    @classmethod
    def of(cls, fields: Mapping[str, Any], where: str = "") -> LineSplice:
        """Read one from arguments; `where` names them in a refusal."""
        start, end = fields["start_line"], fields["end_line"]
        if start > end:
            raise InvalidParams(
                f"{where}start_line {start} is after end_line {end}; "
                "lines are counted from 1 and both ends belong to the range"
            )
        return cls(start, end, fields["replacement"], fields["precondition"] or {})

    @property
    def replaced_line_count(self) -> int:
        return self.end - self.start + 1

    @property
    def new_line_count(self) -> int:
        """How many lines the replacement has."""
        text = normalised(self.replacement)
        return text.count("\n") + (bool(text) and not text.endswith("\n"))

    def overlaps(self, other: LineSplice) -> bool:
        """Whether both replace some line."""
        return self.start <= other.end and other.start <= self.end


class Lines:
    """A file about to be spliced, by line number."""

    def __init__(self, current: Current, place: ResolvedPath) -> None:
        if not is_text(current.data):
            raise InvalidParams(
                f"{place.shown} is a binary file and has no lines. Change it with the program "
                "that makes it"
            )
        self.place = place
        self.digest = content_hash(current.data)
        self._file: TextFile = decode(current.data)
        ends = [found.end() for found in re.finditer("\n", self._file.text)]
        if not ends or ends[-1] != len(self._file.text):
            ends.append(len(self._file.text))
        self._bounds = [0, *ends] if self._file.text else [0]

    @property
    def total(self) -> int:
        return len(self._bounds) - 1

    def text(self, number: int) -> str:
        """A line as answers show it, without its end."""
        start, end = self._bounds[number - 1 : number + 1]
        return display(self._file.text[start:end].removesuffix("\n"))

    def check(self, splice: LineSplice) -> None:
        """Refuse lines that are not there, and a file that is not as expected."""
        if splice.end > self.total:
            raise InvalidParams(
                f"lines {splice.start}-{splice.end} reach past the end of {self.place.shown}, "
                f"which has {self.total:,} line{'' if self.total == 1 else 's'}; nothing was "
                "changed. Read it again before writing"
            )
        mismatches = self._mismatches(splice)
        if mismatches:
            raise PreconditionFailed(
                f"{self.place.shown} is not as expected, nothing was changed: "
                + "; ".join(
                    f"{name} is {old!r}, but the file has {now!r}" for name, old, now in mismatches
                )
                + ". Read it again before writing.",
                {
                    "mismatches": [
                        {"field": field, "expected": expected, "actual": actual}
                        for field, expected, actual in mismatches
                    ]
                },
            )

    def _mismatches(self, splice: LineSplice) -> list[tuple[str, str, str]]:
        actual = {
            "expected_file_hash": self.digest,
            "expected_start_line_text": self.text(splice.start),
            "expected_end_line_text": self.text(splice.end),
        }
        found = []
        for field, value in actual.items():
            expected = splice.precondition.get(field)
            if expected is not None and _FINAL_END.sub("", expected) != value:
                found.append((field, limits.shortened(expected), limits.shortened(value)))
        return found

    def spliced(self, splices: Sequence[LineSplice]) -> bytes:
        """The file's bytes with these lines replaced; every other byte is as it was."""
        return self._file.splice([self._edit(splice) for splice in splices])

    def _edit(self, splice: LineSplice) -> Edit:
        start, end = self._bounds[splice.start - 1], self._bounds[splice.end]
        if not splice.replacement:
            return start, end, ""
        body = _FINAL_END.sub("", splice.replacement)
        # A last line that is empty is a line only if it is ended.
        is_ended = self._file.text[end - 1] == "\n" or not body or body.endswith("\n")
        return start, end, body + "\n" if is_ended else body


def overlap(one: LineSplice, other: LineSplice) -> Conflict:
    """The refusal of two splices that replace the same line."""
    return Conflict(
        f"lines {one.start}-{one.end} and {other.start}-{other.end} of one file overlap; "
        "join the two operations"
    )


PARAMETERS = (
    file_path_row("File, absolute or relative to the working directory"),
    Parameter("start_line", "integer", "First line to replace", required=True, minimum=1),
    Parameter("end_line", "integer", "Last line to replace", required=True, minimum=1),
    Parameter("replacement", "string", "The new lines; empty deletes", required=True),
    Parameter(
        "precondition",
        "object",
        "What must hold, or nothing is written",
        fields=(
            Parameter("expected_file_hash", "string", "file_hash as read_code returned it"),
            Parameter("expected_start_line_text", "string", "What start_line holds now"),
            Parameter("expected_end_line_text", "string", "What end_line holds now"),
        ),
    ),
)


# ── batch ────────────────────────────────────────────────────────────────────────────────────────
# A batch of splices over several files: planned from the files as they are, then written.
#
#     Operation   one splice, its file, and what has become of it
#     plan        the new bytes of one file, and which of its operations cannot be
#     write_all   the planned files, all or none
#
# What cannot be is noted at its operation; whether that fails the batch is for the mode to say.


Status = Literal["applied", "failed", "conflict", "skipped"]
_NOTHING = "Nothing was changed."
_CONFLICTS = frozenset({"conflict", "precondition_failed"})


@dataclass(eq=False)
class Operation:
    """One splice of a batch."""

    id: str
    file_path: str
    splice: LineSplice
    status: Status = "skipped"
    reason: str | None = None
    code: str | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any], number: int) -> Operation:
        """Read one from arguments; without an id its number in the batch is one."""
        name = str(number) if fields["id"] is None else fields["id"]
        where = f"operations[{number - 1}]"
        if len(name) > limits.OPERATION_ID_CHARS:
            most = limits.OPERATION_ID_CHARS
            raise InvalidParams(f"{where}.id has {len(name):,} characters; at most {most}")
        splice = LineSplice.of(fields, f"{where}: ")
        return cls(name, fields["file_path"], splice)

    def fail(self, error: FlashgrepError) -> None:
        """Note why it cannot be applied; the first reason counts."""
        if self.code is None:
            self.code = error.code
            self.status = "conflict" if error.code in _CONFLICTS else "failed"
            self.reason = f"{error.code}: {error.message}"

    @property
    def result(self) -> dict[str, Any]:
        return {"id": self.id, "status": self.status, "reason": self.reason}


@dataclass(eq=False)
class FileOperations:
    """The operations on one file, whatever names they use for it."""

    place: ResolvedPath
    operations: list[Operation]


class Overtaken(Conflict):
    """A file changed before it was written; nothing in the batch was written."""


@dataclass(frozen=True)
class Planned:
    """A file with its new bytes."""

    place: ResolvedPath
    current: Current
    data: bytes


def read_operations(rows: Sequence[Mapping[str, Any]]) -> list[Operation]:
    """The operations of a call; ids are unique."""
    if not rows:
        raise InvalidParams("operations is empty; give at least one operation")
    if len(rows) > limits.BATCH_OPERATIONS:
        raise TooLarge(
            f"operations has {len(rows):,} entries; the most is {limits.BATCH_OPERATIONS:,}. "
            "Send several batches"
        )
    operations = [Operation.of(fields, number) for number, fields in enumerate(rows, 1)]
    seen: set[str] = set()
    for operation in operations:
        if operation.id in seen:
            raise InvalidParams(f"two operations have the id {operation.id!r}; ids are unique")
        seen.add(operation.id)
    return operations


@contextmanager
def failing(operations: Iterable[Operation]) -> Iterator[None]:
    """What is refused in this block is the fault of these operations, and noted there."""
    try:
        yield
    except FlashgrepError as error:
        for operation in operations:
            operation.fail(error)


def grouped(call: Call, operations: Sequence[Operation]) -> list[FileOperations]:
    """The operations by file; two names of one file, hard links too, are one."""
    groups: dict[object, FileOperations] = {}
    for operation in operations:
        with failing([operation]):
            call.check_path(operation.file_path)
            place = call.services.scope.place(operation.file_path)
            status = call.services.scope.status(place)
            key: object = place.path if status is None else (status.st_dev, status.st_ino)
            groups.setdefault(key, FileOperations(place, [])).operations.append(operation)
    return list(groups.values())


def plan(call: Call, group: FileOperations, current: Current | None) -> Planned | None:
    """The file with every operation applied that can be; None where none can."""
    for operation in group.operations:  # planned again when the file changed meanwhile
        operation.status, operation.reason, operation.code = "skipped", None, None
    with failing(group.operations):
        if current is None:
            raise missing(call.services.scope, group.place, call.caller.searched)
        lines = Lines(current, group.place)
        fitting = _fitting(lines, group.operations)
        with failing(fitting):
            data = lines.spliced([operation.splice for operation in fitting])
            require_size(call, group.place, len(data))
            return Planned(group.place, current, data) if fitting else None
    return None


def _fitting(lines: Lines, operations: Sequence[Operation]) -> list[Operation]:
    for operation in operations:
        with failing([operation]):
            lines.check(operation.splice)
    # Of two that overlap neither is applied: which one was meant to win is not ours to say.
    for one, other in combinations(operations, 2):
        if one.splice.overlaps(other.splice):
            for operation in (one, other):
                operation.fail(overlap(one.splice, other.splice))
    return [operation for operation in operations if operation.code is None]


# ── all or none ─────────────────────────────────────────────────────────────────────────────────


def plan_all(call: Call, groups: Sequence[FileOperations]) -> list[Planned]:
    """Every file's new bytes; all are held until the last one is down, so there is a ceiling."""
    found = []
    size = 0
    for group in groups:
        planned = None
        with failing(group.operations):
            planned = plan(call, group, current_of(call, group.place))
        if planned is not None:
            found.append(planned)
            size += len(planned.current.data) + len(planned.data)
        if size > limits.BATCH_FILE_BYTES:
            raise TooLarge(
                f"The files of this batch have over {size_text(limits.BATCH_FILE_BYTES)} before "
                "and after it together; nothing was changed. Send several batches"
            )
    return found


def write_all(call: Call, files: Sequence[Planned]) -> None:
    """Write every file, or, where one cannot be, put back those already written.

    Raises `Overtaken` where that is because a file changed, and it can be planned again.
    """
    changes = [FileChange(file.place.path, file.current.data, file.data) for file in files]
    recovery_dir = call.services.recovery_dir
    # One file is all or none by itself.
    safe = promised(recovery_dir, changes) if len(files) > 1 else nullcontext(BatchRecord())
    written: list[Planned] = []
    with safe as promise:
        for file in files:
            try:
                _write(call, file.place, file.current, file.data)
            except (FlashgrepError, TargetChanged, OSError) as error:
                note = _put_back(call, written, promise)
                raise _refused(file.place, error, note) from error
            written.append(file)
    for file in files:
        source.wrote(call.caller, file.place.path, file.data)


def _write(call: Call, place: ResolvedPath, current: Current, data: bytes) -> None:
    def is_same(target: ReplaceTarget) -> bool:
        return target.path == place.path and is_still(target, current)

    replace(call, place, data, current.status, is_same, current.data)


def _put_back(call: Call, written: Sequence[Planned], promise: BatchRecord) -> str:
    """Give the files written so far their old bytes; what is to be said of that."""
    notes = []
    for file in reversed(written):
        try:
            now = current_of(call, file.place)
            if now is None or now.data != file.data:  # their bytes stay
                notes.append(f"{file.place.shown} was changed by someone else meanwhile.")
            else:
                _write(call, file.place, now, file.current.data)
        except (FlashgrepError, TargetChanged, OSError) as error:
            promise.is_kept = True
            notes.append(
                f"{file.place.shown} could not be put back ({error}); its old bytes are safe and "
                "are put back when the server starts again."
            )
    return " ".join(notes) or _NOTHING


def _refused(place: ResolvedPath, error: Exception, note: str) -> FlashgrepError:
    if isinstance(error, TargetChanged):
        kind = Overtaken if note == _NOTHING else Conflict
        return kind(f"{place.shown} changed while the batch was written. {note}")
    if isinstance(error, FlashgrepError):
        return Conflict(f"{place.shown}: {error.message.rstrip('.')}. {note}")
    return IOFailure(f"{place.shown}: {error}. {note}")
