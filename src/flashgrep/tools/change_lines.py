"""Lines of a file replaced by others: what `write_code` and its batch share.

A replacement is text. One newline at its end ends its last line and adds no empty one, so the
content of get_slice can be sent back as it is, with a newline at the end or without. The file's
own last line keeps its end, or its lack of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, PreconditionFailed
from flashgrep.tools.change_text import Current
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.tools.dispatch.spec import Parameter
from flashgrep.workspace.scope import Place
from flashgrep.workspace.text import Edit, TextFile, decode, display, is_text, normalised

_FINAL_END = re.compile(r"\r?\n\Z")


@dataclass(frozen=True)
class Splice:
    """Lines to replace, and what must hold of the file for it."""

    start: int
    end: int
    replacement: str
    precondition: Mapping[str, str | None]

    @classmethod
    def of(cls, fields: Mapping[str, Any], where: str = "") -> Splice:
        """Read one from arguments; `where` names them in a refusal."""
        start, end = fields["start_line"], fields["end_line"]
        if start > end:
            raise InvalidParams(
                f"{where}start_line {start} lies after end_line {end}; "
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

    def overlaps(self, other: Splice) -> bool:
        """Whether both replace some line."""
        return self.start <= other.end and other.start <= self.end


class Lines:
    """A file about to be spliced, by line number."""

    def __init__(self, current: Current, place: Place) -> None:
        if not is_text(current.data):
            raise InvalidParams(
                f"{place.shown} is a binary file and has no lines; write it whole instead"
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

    def check(self, splice: Splice) -> None:
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
                + "; ".join(_mismatch(*row) for row in mismatches)
                + ". Read it again before writing.",
                {
                    "mismatches": [
                        {"field": field, "expected": expected, "actual": actual}
                        for field, expected, actual in mismatches
                    ]
                },
            )

    def _mismatches(self, splice: Splice) -> list[tuple[str, str, str]]:
        actual = {
            "expected_file_hash": self.digest,
            "expected_start_line_text": self.text(splice.start),
            "expected_end_line_text": self.text(splice.end),
        }
        found = []
        for field, value in actual.items():
            expected = splice.precondition.get(field)
            if expected is not None and _FINAL_END.sub("", expected) != value:
                found.append((field, _quotable(expected), _quotable(value)))
        return found

    def spliced(self, splices: Sequence[Splice]) -> bytes:
        """The file's bytes with these lines replaced; every other byte is as it was."""
        return self._file.splice([self._edit(splice) for splice in splices])

    def _edit(self, splice: Splice) -> Edit:
        start, end = self._bounds[splice.start - 1], self._bounds[splice.end]
        if not splice.replacement:
            return start, end, ""
        body = _FINAL_END.sub("", splice.replacement)
        # A last line that is empty is a line only if it is ended.
        is_ended = self._file.text[end - 1] == "\n" or not body or body.endswith("\n")
        return start, end, body + "\n" if is_ended else body


def overlap(one: Splice, other: Splice) -> Conflict:
    """The refusal of two splices that replace the same line."""
    return Conflict(
        f"lines {one.start}-{one.end} and {other.start}-{other.end} of one file overlap; "
        "join the two operations"
    )


def _mismatch(field: str, expected: str, actual: str) -> str:
    return f"{field} is {expected!r}, but the file has {actual!r}"


def _quotable(text: str) -> str:
    return text if len(text) <= limits.QUOTED_CHARS else text[: limits.QUOTED_CHARS] + "..."


PARAMETERS = (
    Parameter(
        "file_path",
        "string",
        "File, absolute or relative to the working directory",
        aliases=("path",),
        required=True,
    ),
    Parameter("start_line", "integer", "First line to replace", required=True, minimum=1),
    Parameter("end_line", "integer", "Last line to replace", required=True, minimum=1),
    Parameter("replacement", "string", "The new lines; empty deletes", required=True),
    Parameter(
        "precondition",
        "object",
        "What must hold, or nothing is written",
        fields=(
            Parameter("expected_file_hash", "string", "file_hash as read_code told it"),
            Parameter("expected_start_line_text", "string", "What start_line holds now"),
            Parameter("expected_end_line_text", "string", "What end_line holds now"),
        ),
    ),
)
