"""The process that parses: takes a file's text and a name on stdin, answers with definitions.

A parser is a large machine fed with whatever a file holds. It must not take the server down, hold
its interpreter's lock for a tenth of a second, or keep on after a call was cancelled.
"""

from __future__ import annotations

from flashgrep.ranking.definitions import definitions_in
from flashgrep.system.child import serve

Definitions = list[tuple[int, str, str]]
"""Line, kind and signature of each."""


def _parsed(message: tuple[str, bytes, str, list[int]]) -> tuple[str, Definitions]:
    return "parsed", [(*found,) for found in definitions_in(*message)]


def main() -> None:
    """Parse for the server until it is gone."""
    serve(_parsed)


if __name__ == "__main__":
    main()
