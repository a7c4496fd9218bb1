"""write_code: replace a range of lines, if the file is what the caller expects."""

from __future__ import annotations

from flashgrep.tools.change_lines import PARAMETERS, Lines, Splice
from flashgrep.tools.change_text import Current, change
from flashgrep.tools.dispatch.answer import Answer, json_answer
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.tools.dispatch.spec import ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.mounts.missing import missing


def write_code(call: Call, arguments: Arguments) -> Answer:
    """Replace lines start_line to end_line."""
    splice = Splice.of({row.name: arguments.get(row.name) for row in PARAMETERS})
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


SPEC = ToolSpec(
    name="write_code",
    title="Replace lines",
    description=(
        "Replace lines start_line to end_line of a file (1-based, inclusive) by replacement; an "
        "empty replacement deletes them. A newline at its end adds no empty line. precondition "
        "guards against line numbers gone stale: expected_file_hash (from read_code), "
        "expected_start_line_text, expected_end_line_text; if one does not hold, nothing is "
        "written and every mismatch is told. Only the replaced bytes change: encoding, line ends "
        "and mode stay. Answers JSON with file_hash_before and file_hash_after."
    ),
    parameters=PARAMETERS,
    handler=write_code,
    toolset="index",
    read_only=False,
    destructive=True,
    idempotent=False,
)
