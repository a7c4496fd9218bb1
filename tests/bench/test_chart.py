"""The chart is SVG that a browser can read, and its bars are on the right side of ripgrep."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from bench.chart import svg

_SVG = "{http://www.w3.org/2000/svg}"


def _bars(text: str) -> list[tuple[float, float]]:
    """Left and right end of each bar."""
    rectangles = ElementTree.fromstring(text).findall(f"{_SVG}rect")[1:]  # noqa: S314 - our own
    return [
        (float(bar.attrib["x"]), float(bar.attrib["x"]) + float(bar.attrib["width"]))
        for bar in rectangles
    ]


def _ripgrep(text: str) -> float:
    lines = ElementTree.fromstring(text).findall(f"{_SVG}line")  # noqa: S314 - our own
    (at,) = (float(line.attrib["x1"]) for line in lines if line.attrib["stroke"] == "#222")
    return at


def test_faster_bars_begin_at_ripgrep_and_slower_ones_end_there() -> None:
    text = svg([("Files", [("rare", 100.0), ("nolit", 0.5)]), ("Count", [("most", 1.5)])])
    rare, nolit, most = _bars(text)
    assert rare[0] == most[0] == _ripgrep(text)
    assert abs(nolit[1] - _ripgrep(text)) < 0.2
    assert nolit[0] < _ripgrep(text)


def test_ten_times_is_as_far_from_one_as_from_a_hundred() -> None:
    bars = _bars(svg([("Files", [("a", 10.0), ("b", 100.0), ("c", 1000.0)])]))
    widths = [right - left for left, right in bars]
    steps = [after - before for before, after in pairwise([0.0, *widths])]
    assert max(steps) - min(steps) < 0.5


def test_names_cannot_break_the_drawing() -> None:
    root = ElementTree.fromstring(svg([("a <b> & c", [("<i>", 2.0)])]))  # noqa: S314 - our own
    assert "a <b> & c" in {text.text for text in root.findall(f"{_SVG}text")}


def test_there_is_a_chart_of_nothing() -> None:
    assert _bars(svg([])) == []
