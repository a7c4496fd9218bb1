"""`python -m bench.flows`: record the four calls and write docs/flows.md."""

from __future__ import annotations

from bench.flows.calls import recordings
from bench.flows.page import PAGE, render

PAGE.write_text(render(recordings()), encoding="utf-8")
print(f"wrote {PAGE.name}")
