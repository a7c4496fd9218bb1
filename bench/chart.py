"""The page's chart: how many times ripgrep's speed, by class, as bars on a logarithmic scale.

Written as SVG by hand, so that no drawing library has to be installed to measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

Bars = Sequence[tuple[str, float]]
_Scale = Callable[[float], float]

_WIDTH, _LABEL, _FIGURE = 720, 90, 80
_BAR, _GAP, _TITLE, _MARGIN = 16, 5, 30, 16
_COLOURS = ("#3b6ea5", "#5a9367", "#b0762c", "#8a5a8f")
_SLOWER = "#b03a3a"


def svg(groups: Sequence[tuple[str, Bars]]) -> str:
    """A drawing of groups of bars, with a line where ripgrep is."""
    values = [value for _, bars in groups for _, value in bars] or [1.0]
    low = min(0, floor(log10(min(values))))
    high = max(1, ceil(log10(max(values))))
    width = _WIDTH - _LABEL - _FIGURE - _MARGIN

    def x(value: float) -> float:
        return _LABEL + width * (log10(value) - low) / (high - low)

    rows: list[str] = []
    y = _MARGIN
    for number, (title, bars) in enumerate(groups):
        colour = _COLOURS[number % len(_COLOURS)]
        rows.append(_text(_LABEL, y + 14, title, "font-weight='bold'"))
        y += _TITLE - 8
        for label, value in bars:
            rows.append(_bar(label, value, y, x, colour))
            y += _BAR + _GAP
        y += _GAP * 2
    height = y + _TITLE
    lines = [_line(10.0**power, y, x) for power in range(low, high + 1)]
    return "\n".join([_head(height), *lines, *rows, "</svg>"]) + "\n"


def _head(height: float) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' "
        f"height='{height}' font-family='sans-serif' font-size='12' fill='#222'>\n"
        "<title>Times ripgrep's speed, by class of pattern</title>\n"
        f"<rect width='{_WIDTH}' height='{height}' fill='white'/>"
    )


def _bar(label: str, value: float, y: float, x: _Scale, colour: str) -> str:
    begin, end = sorted((x(1.0), x(value)))
    fill = colour if value >= 1 else _SLOWER
    shown = f"{value:,.0f} ×" if value >= 10 else f"{value:.2f} ×"
    bar = (
        f"<rect x='{begin:.1f}' y='{y}' width='{max(1.0, end - begin):.1f}' height='{_BAR}' "
        f"fill='{fill}'/>"
    )
    name = _text(_LABEL - 8, y + 12, label, "text-anchor='end'")
    return "\n".join([bar, name, _text(end + 5, y + 12, shown)])


def _line(value: float, bottom: float, x: _Scale) -> str:
    is_ripgrep = value == 1
    stroke = "#222" if is_ripgrep else "#ddd"
    label = "ripgrep = 1 ×" if is_ripgrep else f"{value:,g} ×"
    at = f"{x(value):.1f}"
    return f"<line x1='{at}' y1='{_MARGIN}' x2='{at}' y2='{bottom}' stroke='{stroke}'/>\n" + _text(
        x(value), bottom + 16, label, "text-anchor='middle'"
    )


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {more}>{escape(words)}</text>".replace(" >", ">")
