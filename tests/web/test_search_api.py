"""What the search page and the file view ask: grep's answers, drawn, paged, stopped, scoped."""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from tests.faults.processes import wait_until
from tests.faults.test_heavy_patterns import LINE, long_at_it, wait_until_stopped
from tests.faults.test_heavy_patterns import PATTERN as HEAVY
from tests.tools import test_call_seconds
from tests.transports.clients import PATIENCE_SECONDS, RawLines, tool_call
from tests.web.served import TOKEN, Served, served

CASES = 1_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 25
WORDS = ("alpha", "beta", "Grüße", "😀 smile", "foo_bar", "foo", "x = 1", "", "\tend", "a-b", "ß")
LONG = "y" * 1_200 + "foo" + "z" * 3_000 + "foo" + "é" * 900


@dataclass
class Desk:
    """A server, and an agent's connection to it."""

    served: Served
    agent: RawLines

    def ask(self, name: str, **body: Any) -> Any:
        """The answer to a question that must succeed."""
        answer = self.served.post(f"/api/{name}", body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["milliseconds"] >= 0
        return answer.json()

    def grep(self, **arguments: Any) -> str:
        """The text of the tool."""
        self.agent.send(tool_call("grep", 1, output_mode="content", **arguments))
        result = self.agent.receive()["result"]
        assert not result["isError"], result
        return str(result["content"][0]["text"])


def files(top: Path) -> None:
    """A tree with long lines, CRLF, odd bytes and names, and what no search looks at."""
    choose = random.Random(4)
    for number in range(60):
        folder = top / choose.choice(("", "src", "src/deep", "docs", "wéird"))
        folder.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(choose.choices(WORDS, k=3)) for _ in range(choose.randrange(1, 40))]
        end = choose.choice(("\n", "\r\n"))
        name = f"file{number}.{choose.choice(('py', 'md', 'txt', 'ts'))}"
        (folder / name).write_bytes(end.join(lines).encode() + end.encode() * (number % 2))
    (top / "long.txt").write_text(f"short foo\n{LONG}\nlast foo", encoding="utf-8")
    (top / "odd.txt").write_bytes(b"foo \xff\xfe foo\nb\xc3\nfoo\n")
    (top / "binary.bin").write_bytes(b"foo\0\1\2foo")
    (top / ".gitignore").write_text("ignored\n", encoding="utf-8")
    (top / "ignored").write_text("foo\n", encoding="utf-8")


@contextmanager
def desk(place: Path, notes: dict[str, str], *flags: str) -> Iterator[Desk]:
    where = str(place / "s.sock")
    every = ("--token", TOKEN, "--socket", where, "--max-output-chars", "0", *flags)
    with (
        served(place, notes, flags=every) as running,
        RawLines(running.server.open_unix()) as agent,
    ):
        agent.start()
        yield Desk(running, agent)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    place = tmp_path_factory.mktemp("search")
    (place / "workspace").mkdir()
    files(place / "workspace")
    choose = random.Random(5)
    notes = {
        f"{folder}Note {number}.md": "\n".join(
            " ".join(choose.choices(WORDS, k=3)) for _ in "12345"
        )
        for number in range(12)
        for folder in ("", "Team/", "Team/Secret/")
    }
    with desk(place, notes) as made:
        yield made


# ── the same as grep ────────────────────────────────────────────────────────────────────────────


def as_text(answer: Any) -> str:
    """What grep prints, from what the page gets."""
    printed: list[str] = []
    for file in answer["files"]:
        previous = None
        for row in file["lines"]:
            begins = previous is None and bool(printed)
            if begins or (previous is not None and row["line"] > previous + 1):
                printed.append("--")
            previous = row["line"]
            mark = ":" if row["match"] else "-"
            printed.append(f"{file['path']}{mark}{row['line']}{mark}{row['text']}")
    said = answer["message"]
    if not answer["files"] and not said.startswith("No matches"):
        return f"({said})"
    if not answer["files"]:
        return re.sub(r"^(No matches found) (\(.*)$", r"\1\n\2", said, flags=re.DOTALL)
    return "\n".join([*printed, *([f"({said})"] if said else [])])


PATTERNS = (
    *("foo", "FOO", "foo_bar", "a", ".", "^", "$", r"\bfoo\b", "fo+", r"^\s", "ü", "😀", "ß"),
    *(r"[aeiou]{2}", "foo|beta", "(?i)ALPHA", "nothing at all", r"\w+ = \d", r"\pL+e", "x?"),
)
MULTILINE = (r"foo\n", "foo.*beta", r"(?m)^foo$", "a.b", r"\n\n", "alpha[^x]*x", "foo$", r"\A.")


@pytest.mark.parametrize("where", ["workspace", "notes"])
@pytest.mark.parametrize("seed", range(3))
def test_lines_their_order_and_pages_are_those_of_grep(opened: Desk, where: str, seed: int) -> None:
    choose = random.Random(f"{where}{seed}")
    for _ in range(CASES):
        multiline = choose.random() < 0.3
        pattern = choose.choice(MULTILINE if multiline else PATTERNS)
        asked: dict[str, Any] = {"pattern": pattern, "multiline": multiline}
        asked["case_insensitive"] = choose.random() < 0.3
        if choose.random() < 0.3:
            asked["include"] = choose.choice((["*.py"], ["*.{md,txt}"], ["!*1*"], ["src/**"]))
        if choose.random() < 0.2:
            asked["type"] = choose.choice(("py", "markdown"))
        asked["context"] = choose.choice((0, 0, 1, 3, 20))
        folder = choose.choice(("", "src", "wéird") if where == "workspace" else ("", "Team"))
        limit, offset = choose.choice((1, 7, 250, 1_000)), choose.choice((0, 0, 5, 400))
        page = {"limit": limit, "offset": offset, "where": where, "path": folder}
        answer = opened.ask("search", **asked, **page)
        path = folder if where == "workspace" else f"kb://{folder}"
        given = {**asked, **({"path": path} if path else {}), "head_limit": limit, "offset": offset}
        text = opened.grep(**given)
        assert as_text(answer) == text, (asked, page)
        rows = [row for file in answer["files"] for row in file["lines"]]
        assert answer["shown"] == sum(row["match"] for row in rows)
        more = re.search(r"next: offset (\d+)", text.rsplit("\n", 1)[-1])
        assert answer["next_offset"] == (int(more[1]) if more else None)


def test_counts_are_those_of_grep(opened: Desk) -> None:
    for multiline in (False, True):
        for where, path in (("workspace", {}), ("notes", {"path": "kb://"})):
            asked = {"pattern": "foo|a", "multiline": multiline}
            counted = opened.ask("count", **asked, where=where)
            opened.agent.send(tool_call("grep", 1, output_mode="count", **asked, **path))
            text = opened.agent.receive()["result"]["content"][0]["text"]
            rows = [line.rsplit(":", 1)[1] for line in text.split("\n")]
            assert (counted["files"], counted["matches"]) == (len(rows), sum(map(int, rows)))
    empty = opened.ask("count", pattern="nothing at all")
    assert (empty["files"], empty["matches"], empty["message"]) == (0, 0, "No matches found")


def test_pages_follow_each_other_without_gap_or_repeat(opened: Desk) -> None:
    whole = opened.ask("search", pattern="foo", limit=1_000)
    wanted = [(file["path"], row["line"]) for file in whole["files"] for row in file["lines"]]
    found: list[tuple[str, int]] = []
    offset: int | None = 0
    while offset is not None:
        part = opened.ask("search", pattern="foo", limit=17, offset=offset)
        found += [(file["path"], row["line"]) for file in part["files"] for row in file["lines"]]
        offset = part["next_offset"]
    assert found == wanted
    assert len(wanted) > 100


def test_paths_below_a_folder_say_what_they_are_relative_to(opened: Desk) -> None:
    answer = opened.ask("search", pattern="foo", path="src/deep", limit=1)
    path = answer["root"] + answer["files"][0]["path"]
    assert answer["root"] == "src/deep/"
    assert opened.served.get(f"/api/file?path={path}").status_code == 200


# ── what is drawn ───────────────────────────────────────────────────────────────────────────────


def drawn(row: Any) -> list[str]:
    """What JavaScript cuts out by the spans."""
    units = row["text"].encode("utf-16-le")
    return [units[2 * first : 2 * last].decode("utf-16-le") for first, last in row["spans"]]


def rows_of(opened: Desk, **asked: Any) -> list[Any]:
    answer = opened.ask("search", limit=1_000, **asked)
    return [row for file in answer["files"] for row in file["lines"]]


@pytest.mark.parametrize(
    "pattern", ["foo", "Grüße|foo_bar", r"\w+ = ", "[a-z]", "😀", "ß", r"foo\b", "o*", ".+"]
)
def test_every_match_on_a_line_is_drawn(opened: Desk, pattern: str) -> None:
    answer = opened.ask("search", pattern=pattern, include=["file*.*"], limit=100)
    rows = [row for file in answer["files"] for row in file["lines"]]
    assert len(rows) > 50
    same = re.compile(pattern, re.ASCII)
    for row in rows:
        merged: list[str] = []
        end = -1
        for match in same.finditer(row["text"]):
            if match[0] and match.start() == end:
                merged[-1] += match[0]
            elif match[0]:
                merged.append(match[0])
            end = match.end() if match[0] else end
        assert drawn(row) == merged, row


def test_a_long_line_is_cut_as_grep_cuts_it_and_its_first_match_is_drawn(opened: Desk) -> None:
    row = next(row for row in rows_of(opened, pattern="foo", path="long.txt") if row["line"] == 2)
    assert row["column"] == 1_201
    assert row["text"].endswith(f"[column 1201, {len(LONG)} chars total]")
    assert drawn(row) == ["foo"]
    assert row["spans"][0][0] == 3 + limits.MATCH_WINDOW_CHARS
    row = next(row for row in rows_of(opened, pattern="z+", path="long.txt") if row["line"] == 2)
    assert drawn(row)[0].startswith("z" * limits.MATCH_WINDOW_CHARS)
    for row in rows_of(opened, pattern="foo", path="long.txt")[::2]:
        assert "column" not in row


def test_a_match_over_several_lines_is_drawn_on_each(opened: Desk) -> None:
    (opened.served.home.parent / "workspace" / "multi.cfg").write_text("one two\nthree\n\nfour ß\n")
    asked = {"pattern": r"two.three\s+fo", "multiline": True, "path": "multi.cfg", "context": 1}
    rows = rows_of(opened, **asked)
    assert [drawn(row) for row in rows] == [["two"], ["three"], [], ["fo"]]
    rows = rows_of(opened, pattern="o", multiline=True, path="multi.cfg")
    assert [drawn(row) for row in rows] == [["o", "o"], ["o"]]
    # Of a match that begins before the page, the lines on the page are drawn whole.
    second = opened.ask("search", **{**asked, "context": 0}, offset=1, limit=1)
    assert drawn(second["files"][0]["lines"][0]) == ["three"]


def test_lines_of_context_have_nothing_drawn(opened: Desk) -> None:
    rows = rows_of(opened, pattern="Grüße", context=2)
    assert any(not row["match"] for row in rows)
    assert all(row["spans"] == [] for row in rows if not row["match"])


# ── stopping ────────────────────────────────────────────────────────────────────────────────────


def sent(name: str, body: Any, token: str = TOKEN) -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST /api/{name} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


@pytest.fixture
def heavy(tmp_path: Path) -> Iterator[Desk]:
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "long.txt").write_bytes(LINE)
    (work / "rare.txt").write_bytes(b"THE_RARE_NEEDLE\n")
    with desk(tmp_path, {"One.md": "THE_RARE_NEEDLE"}) as made:
        yield made


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["search", "count"])
def test_a_search_ends_when_its_client_hangs_up(heavy: Desk, name: str) -> None:
    server = heavy.served.server
    with server.open_http() as connection:
        connection.sendall(sent(name, {"pattern": HEAVY}))
        lost = wait_until(lambda: long_at_it(server.process.pid), "process that matches")
    wait_until_stopped(server.process.pid, lost)
    found = heavy.ask("search", pattern="THE_RARE_NEEDLE")
    assert [file["path"] for file in found["files"]] == ["rare.txt"]


@pytest.mark.thorough
def test_heavy_searches_of_one_person_keep_nobody_else_waiting(heavy: Desk) -> None:
    server, tokens = heavy.served.server, heavy.served.tokens
    other = tokens.make("reader", Role.READ)
    many = limits.CALLS_AT_ONCE + 4
    connections = [server.open_http() for _ in range(many)]
    try:
        for connection in connections:
            connection.sendall(sent("search", {"pattern": HEAVY}))
        lost = wait_until(lambda: long_at_it(server.process.pid), "process that matches")
        asked = {"pattern": "THE_RARE_NEEDLE", "where": "notes"}
        answer = heavy.served.post("/api/search", asked, token=other)
        assert [file["path"] for file in answer.json()["files"]] == ["kb://One.md"]
        assert "rare.txt" in heavy.grep(pattern="THE_RARE_NEEDLE")
    finally:
        for connection in connections:
            connection.close()
    wait_until_stopped(server.process.pid, lost)


@pytest.mark.thorough
def test_the_time_of_a_call_ends_a_search_and_the_answer_says_so(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "long.txt").write_bytes(test_call_seconds.LINE)
    asked = {"pattern": test_call_seconds.HEAVY}
    with desk(tmp_path, {}, "--call-seconds", "1") as made:
        answer = made.served.post("/api/search", asked)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (504, "cancelled")
        assert error["message"].startswith("search was stopped after 1 seconds (--call-seconds)")
        (work / "short.txt").write_bytes(test_call_seconds.matching())

        def counted() -> Any:
            told = made.served.post("/api/count", asked).json()
            assert "error" not in told
            return told

        count = test_call_seconds.found_in_time(counted)
        assert "incomplete: stopped after 1 seconds" in count["message"]
        assert (count["files"], count["matches"]) == (1, 1)


# ── who may ask ─────────────────────────────────────────────────────────────────────────────────


def test_a_token_of_notes_searches_the_notes_it_may_read_and_no_files(opened: Desk) -> None:
    server = opened.served
    token = server.token("team", Role.READ, "Team/Secret")
    found = server.post("/api/search", {"pattern": ".", "where": "notes", "limit": 1_000}, token)
    paths = [file["path"] for file in found.json()["files"]]
    assert paths
    assert all(path.startswith("kb://Team/Secret/") for path in paths)
    counted = server.post("/api/count", {"pattern": ".", "where": "notes"}, token).json()
    assert counted["files"] == len(paths)
    for name, body in (
        ("search", {"pattern": "foo"}),
        ("count", {"pattern": "foo", "where": "workspace"}),
        ("query", {"text": "foo"}),
        ("symbol", {"symbol_name": "foo"}),
        ("files", {"text": "foo"}),
    ):
        refused = server.post(f"/api/{name}", body, token)
        assert refused.status_code == 403, refused.text
        assert "is for notes, not for files" in refused.json()["error"]["message"]
    assert server.get("/api/file?path=long.txt", token).status_code == 403


def test_denied_directories_are_denied_here_too(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    (work / "hidden").mkdir(parents=True)
    (work / "hidden" / "a.txt").write_text("needle\n")
    (work / "shown.txt").write_text("needle\n")
    with desk(tmp_path, {}, "--deny-dir", "hidden") as made:
        found = made.ask("search", pattern="needle")
        assert [file["path"] for file in found["files"]] == ["shown.txt"]
        assert made.ask("files", text="")["files"] == ["shown.txt"]
        for path in ("hidden/a.txt", "../kb/tokens.json", "/etc/passwd/..", str(tmp_path / "kb")):
            answer = made.served.get(f"/api/file?path={path}")
            assert answer.status_code in (403, 404), path
        refused = made.served.post("/api/search", {"pattern": "needle", "path": "hidden"})
        assert refused.json()["error"]["code"] == "access_denied"


def test_without_a_workspace_only_notes_are_searched(tmp_path: Path) -> None:
    with desk(tmp_path, {"A/One.md": "needle\n"}, "--no-workspace") as made:
        found = made.ask("search", pattern="needle")
        assert [file["path"] for file in found["files"]] == ["A/One.md"]
        assert made.ask("search", pattern="needle", where="notes", path="A")["shown"] == 1
        refused = made.served.post("/api/search", {"pattern": "needle", "where": "workspace"})
        assert refused.json()["error"]["code"] == "unavailable"
        assert made.served.get("/api/file?path=One.md").status_code == 503


# ── hostile input ───────────────────────────────────────────────────────────────────────────────

BAD: list[tuple[str, Any, int, str]] = [
    ("search", {"pattern": "("}, 400, "invalid_pattern"),
    ("search", {"pattern": ""}, 400, "invalid_pattern"),
    ("search", {"pattern": "x" * 1_000_000}, 400, "invalid_pattern"),
    ("search", {"pattern": "(" * 9_000 + ")" * 900}, 400, "invalid_pattern"),
    ("search", {"pattern": "(((a{100}){100}){100}"}, 400, "invalid_pattern"),
    ("search", {"pattern": "\ud83d"}, 400, "invalid_params"),
    ("search", {"pattern": 7}, 400, "invalid_params"),
    ("search", {"pattern": None}, 400, "invalid_params"),
    ("search", {}, 400, "invalid_params"),
    ("search", [], 400, "invalid_params"),
    ("search", {"pattern": "x", "limit": 0}, 400, "invalid_params"),
    ("search", {"pattern": "x", "limit": 1_001}, 400, "invalid_params"),
    ("search", {"pattern": "x", "limit": True}, 400, "invalid_params"),
    ("search", {"pattern": "x", "offset": -1}, 400, "invalid_params"),
    ("search", {"pattern": "x", "offset": 2**60}, 400, "invalid_params"),
    ("search", {"pattern": "x", "context": 21}, 400, "invalid_params"),
    ("search", {"pattern": "x", "where": "elsewhere"}, 400, "invalid_params"),
    ("search", {"pattern": "x", "include": ["{"]}, 400, "invalid_params"),
    ("search", {"pattern": "x", "include": [7]}, 400, "invalid_params"),
    ("search", {"pattern": "x", "type": "cobol-77"}, 400, "invalid_params"),
    ("search", {"pattern": "x", "path": "a\0b"}, 400, "invalid_params"),
    ("search", {"pattern": "x", "path": "no/such"}, 404, "not_found"),
    ("search", {"pattern": "x", "where": "notes", "path": "No"}, 404, "not_found"),
    ("search", {"pattern": "x", "output_mode": "count"}, 400, "invalid_params"),
    ("count", {"pattern": "x", "limit": 3}, 400, "invalid_params"),
    ("query", {"text": "x", "where": "notes"}, 400, "invalid_params"),
    ("query", {"text": ""}, 400, "invalid_params"),
    ("symbol", {"symbol_name": ""}, 400, "invalid_params"),
    ("files", {"text": "x", "limit": 1_001}, 400, "invalid_params"),
]


@pytest.mark.parametrize(("name", "body", "status", "code"), BAD)
def test_what_cannot_be_is_refused_with_its_reason(
    opened: Desk, name: str, body: Any, status: int, code: str
) -> None:
    answer = opened.served.post(f"/api/{name}", body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), error
    assert error["message"]


def test_the_reason_of_a_bad_pattern_is_greps(opened: Desk) -> None:
    error = opened.served.post("/api/search", {"pattern": "a["}).json()["error"]
    opened.agent.send(tool_call("grep", 1, pattern="a["))
    assert error["message"] == opened.agent.receive()["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "pattern", ["\0", "\\x00", "\x1b\\[0m", "</script>", "'\"`", "\u2028", "\\Q"]
)
def test_odd_patterns_are_searched_for(opened: Desk, pattern: str) -> None:
    opened.ask("search", pattern=pattern)


def test_deep_nesting_and_noise_are_refused_before_anything_is_searched(opened: Desk) -> None:
    for body in (b"[" * 5_000, b'{"pattern": "x"', b"\xff", b'{"pattern": NaN}'):
        headers = {"authorization": f"Bearer {TOKEN}"}
        answer = opened.served.client.post("/api/search", content=body, headers=headers)
        assert answer.status_code == 400


# ── words, symbols, names ───────────────────────────────────────────────────────────────────────


def test_query_and_symbol_answer_as_the_methods_do(opened: Desk) -> None:
    top = opened.served.home.parent / "workspace"
    (top / "made.py").write_text("def brew_coffee(cups):\n    return cups\n\nbrew_coffee(2)\n")
    found = opened.ask("query", text="brew coffee", limit=3)
    assert found["results"][0]["file_path"] == "made.py"
    symbol = opened.ask("symbol", symbol_name="brew_coffee")
    assert [row["line"] for row in symbol["definitions"]] == [1]
    opened.agent.send(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "query",
            "params": {"text": "brew coffee", "limit": 3},
        }
    )
    direct = opened.agent.receive()["result"]
    del found["milliseconds"]
    assert found == direct


NAMES = [
    ("grep", "tools/grep.py"),
    ("gsr", "tools/get_slice_rows.py"),
    ("slice rows", "tools/get_slice_rows.py"),
    ("toolsgrep", "tools/grep.py"),
    ("SResP", "tools/SearchResultPage.ts"),
    ("md", "docs/mdbook.txt"),
    ("docs/in", "docs/index.md"),
]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    place = tmp_path_factory.mktemp("names")
    for name in (
        *("tools/grep.py", "tests/tools/test_grep.py", "tools/get_slice_rows.py", "grepping/a.txt"),
        *("tools/SearchResultPage.ts", "docs/index.md", "docs/mdbook.txt", "docs/x/inner.md"),
        "src/gigantic/very/long/path/grep.py",
    ):
        path = place / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    with desk(place, {}) as made:
        yield made


@pytest.mark.parametrize(("typed", "best"), NAMES)
def test_the_best_name_for_some_letters_comes_first(named: Desk, typed: str, best: str) -> None:
    assert named.ask("files", text=typed)["files"][0] == best


def test_names_are_found_by_letters_in_order_and_the_total_counts_all(named: Desk) -> None:
    every = named.ask("files", text="")
    assert every["total"] == len(every["files"]) == 9
    found = named.ask("files", text="grep", limit=2)
    assert found["files"] == ["tools/grep.py", "src/gigantic/very/long/path/grep.py"]
    assert found["total"] == 4
    assert named.ask("files", text="zq")["files"] == []


# ── lines of a file ─────────────────────────────────────────────────────────────────────────────


def lines_of(opened: Desk, path: str, start: int, end: int) -> Any:
    answer = opened.served.get(f"/api/file?path={path}&start={start}&end={end}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_window_has_the_lines_that_view_numbers(opened: Desk) -> None:
    top = opened.served.home.parent / "workspace"
    (top / "window.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\xff\n\n" + b"x" * 3_000 + b"\nlast")
    (top / "wide.txt").write_bytes("eins\nzwei ß\ndrei\n".encode("utf-16"))
    (top / "empty.txt").touch()
    answer = lines_of(opened, "window.txt", 1, 99)
    assert answer["lines"] == ["one", "two\ufffd", "", "x" * 2_000, "last"]
    assert (answer["start_line"], answer["end_line"], answer["total_lines"]) == (1, 5, 5)
    assert (answer["cut"], answer["truncated"]) == ([[4, 3_000]], False)
    assert lines_of(opened, "window.txt", 2, 2)["lines"] == ["two\ufffd"]
    assert lines_of(opened, "wide.txt", 2, 2)["lines"] == ["zwei ß"]
    assert lines_of(opened, "wide.txt", 2, 2)["total_lines"] == 3
    assert lines_of(opened, "empty.txt", 1, 5)["lines"] == []
    for path, start, total in (("window.txt", 6, 5), ("wide.txt", 4, 3), ("empty.txt", 2, 0)):
        past = opened.served.get(f"/api/file?path={path}&start={start}&end=99")
        assert (past.status_code, past.json()["error"]["code"]) == (400, "invalid_params")
        assert f"has {total} lines" in past.json()["error"]["message"]


def test_at_most_2000_lines_come_at_once(opened: Desk) -> None:
    top = opened.served.home.parent / "workspace"
    (top / "many.txt").write_text("".join(f"{number}\n" for number in range(1, 5_001)))
    answer = lines_of(opened, "many.txt", 11, 5_000)
    assert (len(answer["lines"]), answer["end_line"], answer["truncated"]) == (2_000, 2_010, True)
    assert answer["lines"][0] == "11"


def test_a_huge_file_opens_at_any_line(opened: Desk) -> None:
    """One of 64 MiB; the size that view refuses is no bound."""
    top = opened.served.home.parent / "workspace"
    line = b"0123456789abcdef" * 64 + b"\n"
    count = 64 * limits.MIB // len(line)
    with (top / "huge.log").open("wb") as file:
        for _ in range(count // 64):
            file.write(line * 64)
        file.write(b"needle here\nlast")
    number = count // 64 * 64 + 1
    near = lines_of(opened, "huge.log", 1, 3)
    assert (len(near["lines"]), near["total_lines"]) == (3, None)
    for _ in range(2):
        far = lines_of(opened, "huge.log", number, number + 10)
        assert far["lines"] == ["needle here", "last"]
    middle = lines_of(opened, "huge.log", 5_000, 5_001)
    assert middle["lines"] == [line.decode().rstrip("\n")] * 2
    end = time.monotonic() + PATIENCE_SECONDS
    while middle["total_lines"] is None and time.monotonic() < end:  # it was written just now
        lines_of(opened, "huge.log", number, number + 10)
        middle = lines_of(opened, "huge.log", 5_000, 5_001)
    assert middle["total_lines"] == number + 1
    with (top / "huge.log").open("ab") as file:
        file.write(b"\nmore")
    assert lines_of(opened, "huge.log", number + 1, number + 5)["lines"] == ["last", "more"]
    os.unlink(top / "huge.log")


def test_what_is_no_text_file_says_so(opened: Desk) -> None:
    for path, status in (("binary.bin", 400), ("src", 400), ("no.txt", 404), ("", 400)):
        answer = opened.served.get(f"/api/file?path={path}")
        assert answer.status_code == status, answer.text
        assert answer.json()["error"]["message"]
    note = opened.served.get("/api/file?path=kb://Note%201.md").json()["error"]
    assert note["code"] == "invalid_params"
    for query in ("path=long.txt&start=0", "path=long.txt&start=5&end=2", "path=long.txt&x=1"):
        assert opened.served.get(f"/api/file?{query}").status_code == 400


def test_many_people_ask_at_once(opened: Desk) -> None:
    """Answers are not mixed up, whoever asks."""
    wrong: list[str] = []

    def ask(word: str) -> None:
        for _ in range(10):
            answer = opened.served.post("/api/search", {"pattern": word, "limit": 5}).json()
            texts = [row["text"] for file in answer["files"] for row in file["lines"]]
            wrong.extend(text for text in texts if word not in text)

    threads = [
        threading.Thread(target=ask, args=(word,)) for word in ("foo", "beta", "alpha", "a-b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert wrong == []
