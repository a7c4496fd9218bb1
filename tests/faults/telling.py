"""Figures that a test measured and nobody can assert: how often, how much, how many."""

from __future__ import annotations

import sys


def tell(text: str) -> None:
    """Show a figure: `pytest -s` prints it, and a failure brings it along."""
    sys.stdout.write(f"\n{text}\n")
