"""Racing an attacker who swaps files and directories for links out of the scope: no escape.

The tools run in process through a real toolbox, with `openat2` and with the component walk. Each
test prints how many attempts there were, how often the attacker struck meanwhile and how many
attempts met a link, so that it shows the attack was real.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.faults.telling import tell

from flashgrep.app import Application, build
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.workspace import safe_open

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
ATTEMPTS = 50_000 if HEAVY else 200  # for each of the two ways to open
NAIVE_ATTEMPTS = 100_000
PATIENCE = 100
"""How many times as often a call is made, if all of them met a link, or none did."""
CANARY = "CANARY-51d0e7"
SECRET = f"BODY {CANARY}\n"
INSIDE = "BODY inside\n"
ATTACKER = Path(__file__).with_name("attacker.py")


class World:
    """A workspace of which some files and directories change places with links."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        self.ws, self.outside, self.spare = (self.top / n for n in ("ws", "outside", "spare"))
        for directory in ("dir", "a/b", "door", "vault", "many"):
            (self.ws / directory).mkdir(parents=True)
            (self.ws / directory / "key.txt").write_text(INSIDE, encoding="utf-8")
        for number in range(60):  # a search lists them, and is late for the last
            (self.ws / "many" / f"{number}.txt").write_text(INSIDE, encoding="utf-8")
        (self.ws / "many" / "z.txt").write_text(INSIDE, encoding="utf-8")
        (self.ws / "file.txt").write_text(INSIDE, encoding="utf-8")
        (self.ws / "vault" / "key.txt").write_text(SECRET, encoding="utf-8")
        self.outside.mkdir()
        self.spare.mkdir()
        for name in ("key.txt", "secret.txt", f"{CANARY}.txt"):
            (self.outside / name).write_text(SECRET, encoding="utf-8")
        self._links = {
            "dir": self.outside,
            "a/b": self.outside,
            "file.txt": self.outside / "secret.txt",
            "many/z.txt": self.outside / "secret.txt",
            "door": self.ws / "vault",  # inside, but what is in it is denied
        }
        for name, target in self._links.items():
            (self.spare / name.replace("/", "-")).symlink_to(target)

    @property
    def pairs(self) -> list[str]:
        words = []
        for name in self._links:
            words += [str(self.ws / name), str(self.spare / name.replace("/", "-"))]
        return words

    def settings(self) -> Settings:
        return Settings(
            workdir=str(self.ws),
            allow_dir=(str(self.ws),),
            deny_dir=("**/vault/key.txt",),
            require_view_before_edit="false",
            state_dir=str(self.top / "state"),
        )

    def untouchable(self) -> dict[str, str]:
        found = {"outside": " ".join(sorted(os.listdir(self.outside)))}
        for path in (*self.outside.iterdir(), self.ws / "vault" / "key.txt"):
            found[str(path)] = path.read_text(encoding="utf-8")
        return found


@dataclass
class Tally:
    """What came of the attempts."""

    answers: Counter[str] = field(default_factory=Counter)
    escapes: list[str] = field(default_factory=list)
    strikes: int = 0

    def take(self, code: str | None, text: str, given: dict[str, Any] | None = None) -> None:
        """Count an answer; to find what stands outside only, or to show it, is an escape."""
        is_found = given is not None and given.get("pattern") == OUTSIDE and code is None
        if CANARY in text or (is_found and not text.startswith("No matches found")):
            self.escapes.append(text)
        self.answers[code or "answered"] += 1

    @property
    def attempts(self) -> int:
        return sum(self.answers.values())


@contextmanager
def attack(world: World, tally: Tally) -> Iterator[None]:
    """The attacker strikes for as long as the block runs."""
    command = [sys.executable, str(ATTACKER), *world.pairs]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        tally.strikes = int(process.communicate()[0])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(params=["openat2", "components"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two ways to open, in this process and in its workers."""
    if request.param == "components":
        monkeypatch.setattr(safe_open, "has_openat2", False)
        monkeypatch.setenv("FLASHGREP_NO_OPENAT2", "1")
    elif not safe_open.has_openat2:
        pytest.skip("this kernel has no openat2")
    return str(request.param)


@pytest.fixture
def application(world: World, way: str) -> Iterator[Application]:
    made = build(world.settings())
    yield made
    made.close()


Call = tuple[str, dict[str, Any]]

OUTSIDE = "CANAR[Y]"
SEARCH = {"pattern": "CANAR[Y]|BODY", "output_mode": "content"}
SCRIPTS: dict[str, list[Call]] = {
    "view": [
        ("view", {"path": "dir/key.txt"}),
        ("view", {"path": "file.txt"}),
        ("read", {"path": "a/b/key.txt"}),
        ("view", {"path": "door/key.txt"}),
        ("view", {"path": "dir"}),
        ("view", {"path": "."}),
    ],
    "str_replace": [
        ("str_replace", {"path": path, "old_str": old, "new_str": new})
        for path in ("dir/key.txt", "file.txt", "a/b/key.txt", "door/key.txt")
        for old, new in (("BODY", "BULK"), ("BULK", "BODY"))
    ],
    "create_file": [
        ("create_file", {"path": path, "content": INSIDE})
        for path in ("dir/key.txt", "file.txt", "a/b/key.txt", "door/key.txt", "dir/new/deep.txt")
    ],
    "glob": [
        ("glob", {"pattern": "**"}),
        ("glob", {"pattern": "**", "follow_symlinks": True}),
        ("glob", {"pattern": "*.txt", "path": "dir"}),
        ("glob", {"pattern": "**", "path": "a/b"}),
        ("glob", {"pattern": "**/key.txt", "path": "a", "follow_symlinks": True}),
    ],
    "grep": [
        ("grep", SEARCH),
        ("grep", {**SEARCH, "path": "dir"}),
        ("grep", {**SEARCH, "path": "file.txt"}),
        ("grep", {**SEARCH, "path": "door"}),
        ("grep", {**SEARCH, "path": "a", "multiline": True}),
        ("grep", {"pattern": OUTSIDE, "path": "many"}),
        ("grep", {"pattern": OUTSIDE, "output_mode": "count"}),
    ],
}


@pytest.mark.fault
@pytest.mark.timeout(7200 if HEAVY else 600)
@pytest.mark.parametrize("tool", SCRIPTS)
def test_no_swap_leads_a_tool_out_of_its_scope(
    tool: str, world: World, application: Application, way: str
) -> None:
    before = world.untouchable()
    tally = Tally()
    with attack(world, tally):
        anyio.run(_attempts, application, SCRIPTS[tool], ATTEMPTS, tally, PATIENCE)
    met = tally.attempts - tally.answers["answered"]
    tell(
        f"{tool} by {way}: {tally.attempts:,} attempts, {tally.strikes:,} swaps, "
        f"{met:,} met a link, {len(tally.escapes)} escapes; {dict(tally.answers)}"
    )
    assert tally.escapes == []
    assert world.untouchable() == before
    assert tally.strikes > 0
    assert met > 0
    assert tally.answers["answered"] > 0


async def _attempts(
    application: Application, script: list[Call], attempts: int, tally: Tally, patience: int = 1
) -> None:
    """So many, and with patience more, until a call met a link and another one did not.

    On a busy machine the attacker may sleep through hundreds of them, links in place.
    """
    caller = Caller("racer")
    for number in range(patience * attempts):
        answered = tally.answers["answered"]
        if number >= attempts and 0 < answered < tally.attempts:
            break
        tool, given = script[number % len(script)]
        answer = await application.toolbox.call(tool, given, caller)
        tally.take(answer.code, answer.text, given)


@pytest.mark.fault
@pytest.mark.timeout(7200 if HEAVY else 600)
def test_no_swap_leads_a_search_process_out_of_its_scope(
    world: World, application: Application, way: str
) -> None:
    """A large file is searched in a worker, which opens it by itself."""
    large = INSIDE * 100_000
    (world.ws / "dir" / "large.txt").write_text(large, encoding="utf-8")
    (world.outside / "large.txt").write_text(large + SECRET, encoding="utf-8")
    before = world.untouchable()
    tally = Tally()
    script: list[Call] = [
        ("grep", {"pattern": OUTSIDE, "output_mode": "content"}),
        ("grep", {"pattern": OUTSIDE, "output_mode": "content", "path": "dir/large.txt"}),
        ("grep", {"pattern": OUTSIDE, "path": "dir"}),
    ]
    with attack(world, tally):
        anyio.run(_attempts, application, script, ATTEMPTS // 20, tally)
    tell(
        f"workers by {way}: {tally.attempts:,} attempts, {tally.strikes:,} swaps, "
        f"{len(tally.escapes)} escapes; {dict(tally.answers)}"
    )
    assert tally.escapes == []
    assert world.untouchable() == before


@pytest.mark.fault
def test_the_attack_works_on_who_checks_and_then_opens(world: World) -> None:
    """The attacker is worth beating: the usual way loses within a few thousand tries."""
    tally = Tally()
    tried = 0
    with attack(world, tally):
        while not tally.escapes and tried < NAIVE_ATTEMPTS:
            tried += 1
            tally.take(None, _checked_then_opened(world))
    tell(f"check, then open: escaped after {tried:,} tries, {tally.strikes:,} swaps")
    assert tally.escapes


def _checked_then_opened(world: World) -> str:
    try:
        path = os.path.realpath(world.ws / "dir" / "key.txt")
        is_inside = path.startswith(f"{world.ws}/")
        return Path(path).read_text(encoding="utf-8") if is_inside else "refused"
    except OSError:
        return "gone"
