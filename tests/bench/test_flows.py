"""docs/flows.md names the modules that run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.flows.calls import Called, recordings
from bench.flows.page import PAGE, modules, modules_on, render


@pytest.mark.skipif(not os.environ.get("FLASHGREP_HEAVY"), reason="slow: make fuzz runs it")
@pytest.mark.timeout(600)
def test_the_flows_on_the_page_are_those_of_the_running_program() -> None:
    drawn = modules_on(PAGE.read_text(encoding="utf-8"))
    ran = {name: modules(calls) for name, calls in recordings().items()}
    differing = {
        name: sorted(drawn.get(name, set()) ^ ran.get(name, set())) for name in {*drawn, *ran}
    }
    assert not any(differing.values()), f"run make flows; other modules than drawn: {differing}"


def test_every_module_of_a_recording_can_be_read_back_from_its_drawing() -> None:
    many = [f"transports.module_with_a_long_name_{number}" for number in range(12)]
    calls = [
        Called("MainThread", "cli", "main", ()),
        *(Called("MainThread", module, "f", ("cli",)) for module in many),
        Called("AnyIO worker thread", "limits", "g", (many[0],)),
        Called("Thread-3 (work)", "index.answer.rows", "h", ()),
    ]
    page = render({"`one` call": calls})
    assert modules_on(page) == {"`one` call": modules(calls)}
    assert max(map(len, page.splitlines())) <= 100


def test_the_page_has_no_flow_of_a_module_that_is_gone() -> None:
    package = Path(__file__).parents[2] / "src" / "flashgrep"
    named = set().union(*modules_on(PAGE.read_text(encoding="utf-8")).values())
    gone = [m for m in named if not (package / f"{m.replace('.', '/')}.py").is_file()]
    assert not gone, f"run make flows; gone: {sorted(gone)}"
