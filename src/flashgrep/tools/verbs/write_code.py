"""write_code and batch_write_code: replace ranges of lines if the files are as expected."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from flashgrep import limits
from flashgrep.errors import Cancelled, Conflict, FlashgrepError, PreconditionFailed
from flashgrep.tools.change_lines import (
    PARAMETERS,
    FileOperations,
    Lines,
    LineSplice,
    Operation,
    Overtaken,
    Planned,
    failing,
    grouped,
    plan,
    plan_all,
    read_operations,
    write_all,
)
from flashgrep.tools.change_text import EDIT_ATTEMPTS, Current, change, current_of, holding
from flashgrep.tools.dispatch.call import Answer, Call, json_answer
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec
from flashgrep.tools.mounts.files import missing


def write_code(call: Call, arguments: Arguments) -> Answer:
    """Replace lines start_line to end_line."""
    splice = LineSplice.of({row.name: arguments.get(row.name) for row in PARAMETERS})
    place = call.services.scope.place(arguments.text("file_path"))
    hashes = ("", "")

    def make(current: Current | None) -> bytes:
        nonlocal hashes
        if current is None:
            raise missing(call.services.scope, place, call.caller.searched)
        lines = Lines(current, place)
        lines.check(splice)
        data = lines.spliced([splice])
        hashes = (lines.digest, content_hash(data))
        return data

    change(call, place, make)
    return json_answer(
        {
            "ok": True,
            "replaced_line_count": splice.replaced_line_count,
            "new_line_count": splice.new_line_count,
            "file_hash_before": hashes[0],
            "file_hash_after": hashes[1],
        }
    )


WRITE_CODE = ToolSpec(
    name="write_code",
    title="Replace lines",
    description=(
        "Replace lines start_line to end_line of a file (1-based, inclusive) with replacement; an "
        "empty replacement deletes them. A trailing newline adds no empty line. precondition "
        "guards against stale line numbers: expected_file_hash (from read_code), "
        "expected_start_line_text, expected_end_line_text; if any fails, nothing is written and "
        "every mismatch is listed. Only the replaced bytes change: encoding, line ends and mode "
        "stay. Returns JSON with file_hash_before and file_hash_after."
    ),
    parameters=PARAMETERS,
    handler=write_code,
    toolset="index",
    read_only=False,
    idempotent=False,
)


# ── batch write code ─────────────────────────────────────────────────────────────────────────────
# batch_write_code: many ranges of lines in many files, all or none, or as many as can be.


DRY_RUN = "dry run: it would be applied"


def batch_write_code(call: Call, arguments: Arguments) -> Answer:
    """Apply a list of splices."""
    operations = read_operations(arguments.get("operations"))
    is_atomic = arguments.get("mode") == "atomic"
    for operation in operations if is_atomic else ():
        call.check_path(operation.file_path)
    groups = grouped(call, operations)
    dry_run: bool = arguments.get("dry_run")
    if is_atomic:
        _atomic(call, operations, groups, dry_run)
    else:
        for group in groups:
            _best_effort(call, group, dry_run)
    for operation in operations:
        if operation.code is None:
            operation.status = "skipped" if dry_run else "applied"
            operation.reason = DRY_RUN if dry_run else None
    failed = any(operation.code is not None for operation in operations)
    return json_answer({"ok": not failed, "results": [row.result for row in operations]})


def _atomic(
    call: Call, operations: Sequence[Operation], groups: Sequence[FileOperations], dry_run: bool
) -> None:
    with holding(group.place for group in groups):
        for left in reversed(range(EDIT_ATTEMPTS)):
            files = _planned(call, operations, groups)
            if dry_run:
                break
            try:
                write_all(call, files)
                break
            except Overtaken:  # another program was quicker: the lines may still be there
                if not left:
                    raise


def _planned(
    call: Call, operations: Sequence[Operation], groups: Sequence[FileOperations]
) -> Sequence[Planned]:
    files = plan_all(call, groups)
    if any(operation.code is not None for operation in operations):
        raise _refusal(operations)
    if call.cancelled:
        raise Cancelled("The batch was cancelled; nothing was changed")
    return files


def _refusal(operations: Sequence[Operation]) -> FlashgrepError:
    """Why an atomic batch is not applied: every operation in the way, by its id."""
    failed = [operation for operation in operations if operation.code is not None]
    for operation in operations:
        if operation.code is None:
            operation.reason = "the batch is atomic and others failed"
    few = failed[: limits.LISTED_LINES]
    reasons = "; ".join(f"{operation.id!r}: {operation.reason}" for operation in few)
    more = f" and {len(failed) - len(few)} more" if len(failed) > len(few) else ""
    message = (
        f"{len(failed)} of {len(operations)} operations cannot be applied, so nothing was "
        f"written: {reasons}{more}"
    )
    unmet = any(operation.code == PreconditionFailed.code for operation in failed)
    kind = PreconditionFailed if unmet else Conflict
    return kind(message, {"results": [operation.result for operation in operations]})


class _Nothing(Exception):
    """No operation on this file can be applied."""


def _best_effort(call: Call, group: FileOperations, dry_run: bool) -> None:
    def make(current: Current | None) -> bytes:
        planned = plan(call, group, current)
        if planned is None or dry_run:
            raise _Nothing
        return planned.data

    with suppress(_Nothing), failing(group.operations):
        if dry_run:
            make(current_of(call, group.place))
        change(call, group.place, make)


BATCH_WRITE_CODE = ToolSpec(
    name="batch_write_code",
    title="Replace lines in many files",
    description=(
        "Apply many write_code operations at once. All line numbers refer to the files as they are "
        "before the batch, and two operations on one line are refused. mode atomic (default) "
        "writes all files or none; best_effort applies what it can. dry_run only checks. Returns "
        "JSON: ok, results with id, status (applied, failed, conflict, skipped) and reason."
    ),
    parameters=(
        Parameter(
            "operations",
            "objects",
            "What to replace, each as write_code takes it, with an id of your choice",
            required=True,
            fields=(
                Parameter("id", "string", "Names the operation in results; its number if absent"),
                *PARAMETERS,
            ),
        ),
        Parameter(
            "mode",
            "string",
            "Whether all must succeed",
            choices=("atomic", "best_effort"),
            default="atomic",
        ),
        Parameter("dry_run", "boolean", "Check everything, write nothing", default=False),
    ),
    handler=batch_write_code,
    toolset="index",
    read_only=False,
    idempotent=False,
)
