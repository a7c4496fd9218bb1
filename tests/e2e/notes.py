"""Knowledge bases for agents: filled before a server owns them, served to one agent or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from tests.e2e.agent import Agent, agent
from tests.transports.clients import join, serving

from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library


def filled(path: Path, notes: Mapping[str, str]) -> Path:
    """A new knowledge base with these notes; its directory."""
    Home.create(path)
    kb = KnowledgeBase(path)

    def job(library: Library) -> None:
        for name, text in notes.items():
            library.create(name, text, "somebody")

    kb.ask(job)
    kb.close()
    return path


@contextmanager
def alone(directory: Path, notes: Mapping[str, str]) -> Iterator[Agent]:
    """An agent on a server of nothing but these notes."""
    kb = filled(directory / "kb", notes)
    (directory / "work").mkdir()
    with agent(directory / "work", ["--no-workspace", "--kb", str(kb)]) as running:
        yield running


def raw(agent: Agent, path: str) -> str:
    """A note's text with its marks, without line numbers."""
    shown = agent.text("read", file_path=path, view="raw").partition("\n\n[Pending")[0]
    return "\n".join(line.partition("\t")[2] for line in shown.split("\n"))


def edited(agent: Agent, path: str, old: str, new: str) -> str:
    """Read a note, and edit it; the answer."""
    agent.text("read", file_path=path)
    return agent.text("edit", file_path=path, old_string=old, new_string=new)


@contextmanager
def visitors(directory: Path, kb: Path, *names: str) -> Iterator[list[Agent]]:
    """Agents by these names, each with a session of its own on one server of notes alone."""
    directory.mkdir(exist_ok=True)
    flags = ["--no-workspace", "--kb", str(kb), "--http-port", "none", "--tcp-port", "none"]
    with ExitStack() as open_until_the_end:
        server = open_until_the_end.enter_context(serving(directory, flags, ports=False))
        portal = open_until_the_end.enter_context(start_blocking_portal())
        sessions = [
            open_until_the_end.enter_context(
                portal.wrap_async_context_manager(join(server, "unix", name=name))
            )
            for name in names
        ]
        yield [Agent(portal, session) for session in sessions]
