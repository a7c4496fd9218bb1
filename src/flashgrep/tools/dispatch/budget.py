"""The character budget of an answer: filled line by line, never cut inside one.

The room for the line that says what is missing is set aside first, so an answer with it stays
within the budget too. A first line that is larger than all of it is taken all the same: an
answer that shows nothing cannot be continued.
"""

from __future__ import annotations

from flashgrep import limits


class Budget:
    """Lines collected until the next one would not fit; a budget of 0 has no end."""

    def __init__(self, chars: int) -> None:
        self.lines: list[str] = []
        self.is_bounded = chars > 0
        self._left = max(chars - limits.FOOTER_CHARS, chars // 2)

    def take(self, line: str) -> bool:
        """Take a line if it fits; False says it was left out and the answer is full."""
        if not self.fits(len(line)) and self.lines:
            return False
        self.lines.append(line)
        self._left -= len(line) + 1
        return True

    def take_first(self, lines: list[str]) -> int:
        """Take the first lines, as many as fit; how many that are."""
        if self.is_bounded:
            return next((at for at, line in enumerate(lines) if not self.take(line)), len(lines))
        self.lines += lines
        return len(lines)

    def fits(self, chars: int) -> bool:
        """Whether a line of so many characters fits."""
        return not self.is_bounded or chars + 1 <= self._left

    @property
    def room(self) -> int | None:
        """Characters the next line may have; None where there is no budget."""
        return max(0, self._left - 1) if self.is_bounded else None

    def text(self, footer: str = "") -> str:
        """The answer: the lines taken, then the footer."""
        return "\n".join([*self.lines, footer] if footer else self.lines)
