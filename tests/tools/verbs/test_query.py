"""query: ranked places, by scanning here; the index's own ranking is tested beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.index.index import NoIndex
from flashgrep.ranking.path_kinds import KINDS
from flashgrep.ranking.question import RankedFile, RankedQuestion
from flashgrep.tools.format.passages import best_passage, word_finder
from tests.index.git.repositories import Repo
from tests.tools.workshop import Workshop, workshop
from tests.transports.clients import PATIENCE_SECONDS

RETRY = '''"""Uploads."""


def send(job):
    open_socket(job.host).write(job.data)


def retry_upload(job, attempts):
    """Upload again what failed."""
    for attempt in range(attempts):
        send(job)
'''


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, no_index=True) as made:
        made.file("net/retry.py", RETRY)
        made.file("net/tests/test_retry.py", "def test_retry_upload():\n    assert upload failed\n")
        made.file("core/parser.c", "static int parse_header(struct http *h)\n{\n\treturn 1;\n}\n")
        made.file("docs/guide.md", "# Guide\n\nHow to upload a file.\n")
        yield made


def paths(answer: Any) -> list[str]:
    return [result["file_path"] for result in answer["results"]]


# ── smart ───────────────────────────────────────────────────────────────────────────────────────


def test_the_best_place_comes_first_with_its_lines(shop: Workshop) -> None:
    answer = shop.json("query", text="retry failed uploads")
    assert answer["results"][0] | {"score": 0} == {
        "file_path": "net/retry.py",
        "start_line": 8,
        "end_line": 11,
        "score": 0,
        "symbol": "retry_upload",
        "preview": '8: def retry_upload(job, attempts):\n9:     """Upload again what failed."""',
    }
    assert paths(answer)[:2] == ["net/retry.py", "net/tests/test_retry.py"]
    assert answer["total"] == len(answer["results"]) == 3
    assert (answer["truncated"], answer["next_offset"]) == (False, None)
    assert all(result["score"] > 0 for result in answer["results"])


def test_words_are_found_in_other_forms_and_inside_identifiers(shop: Workshop) -> None:
    assert paths(shop.json("query", text="parsing headers")) == ["core/parser.c"]
    assert paths(shop.json("query", text="openSocket"))[0] == "net/retry.py"


def test_nothing_found_is_an_empty_list(shop: Workshop) -> None:
    answer = shop.json("query", text="zebra crossing")
    assert answer == {"results": [], "total": 0, "truncated": False, "next_offset": None}


def test_pages_join_to_the_whole(shop: Workshop) -> None:
    whole = paths(shop.json("query", text="upload"))
    pages, offset = [], 0
    while offset is not None:
        answer = shop.json("query", text="upload", limit=1, offset=offset)
        assert len(answer["results"]) <= 1
        assert answer["truncated"] == (answer["next_offset"] is not None)
        pages += paths(answer)
        offset = answer["next_offset"]
    assert pages == whole
    past = shop.json("query", text="upload", offset=99)
    assert (past["results"], past["next_offset"]) == ([], None)


def test_include_and_exclude_choose_files(shop: Workshop) -> None:
    assert paths(shop.json("query", text="upload", include=["*.md"])) == ["docs/guide.md"]
    assert paths(shop.json("query", text="upload", exclude=["*.md", "**/tests/**"])) == [
        "net/retry.py"
    ]
    assert paths(shop.json("query", text="upload", include=["net/**"], exclude=["*_retry.py"])) == [
        "net/retry.py"
    ]
    shop.error("query", "invalid_params", text="upload", include=["[a"])


def test_context_shows_the_lines_around(shop: Workshop) -> None:
    answer = shop.json("query", text="guide file", include=["*.md"], context=1)
    assert answer["results"][0]["preview"].split("\n") == [
        "1: # Guide",
        "2: ",
        "3: How to upload a file.",
    ]


def test_a_result_never_holds_the_whole_of_a_large_file(shop: Workshop) -> None:
    shop.file("big.py", "needle " * 400 + "\n" + "needle = 1\n" * 5000)
    (result,) = shop.json("query", text="needle", context=10_000)["results"]
    assert len(result["preview"]) < 20_000
    assert result["end_line"] - result["start_line"] < 2 * limits.PASSAGE_LINES


def test_a_query_is_as_fresh_as_the_disk(shop: Workshop) -> None:
    shop.file("new.py", "def zebra():\n    pass\n")
    assert paths(shop.json("query", text="zebra")) == ["new.py"]
    shop.file("new.py", "def horse():\n    pass\n")
    assert paths(shop.json("query", text="zebra")) == []


def test_ignored_and_binary_files_are_left_out(shop: Workshop) -> None:
    shop.file(".gitignore", "build/\n")
    shop.file("build/out.py", "zebra\n")
    shop.file("image.bin", b"\x00\x01zebra\n")
    assert paths(shop.json("query", text="zebra")) == []


# ── kinds of files ──────────────────────────────────────────────────────────────────────────────

HINT = "def retry_upload(job):\n    again(job)\n"
NOTES = "- retry of uploads: a failed upload is retried, retry upload\n" * 5


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Workshop]:
    """The same words in files of every kind, most of all where nobody would look for code."""
    with workshop(tmp_path, no_index=True) as made:
        made.file("src/uploads.py", HINT + "x = 1\n" * 20)
        for name in ("CHANGELOG.md", "docs/uploads.md", "dist/app.js", "package-lock.json"):
            made.file(name, NOTES)
        made.file("tests/test_uploads.py", HINT * 3)
        made.file("web/all.js", "function retry(upload){retry_upload(upload)};" * 100)
        yield made


def test_a_changelog_does_not_outrank_the_implementation(mixed: Workshop) -> None:
    found = paths(mixed.json("query", text="retry failed upload"))
    assert found[0] == "src/uploads.py"
    assert found.index("CHANGELOG.md") > found.index("docs/uploads.md")
    assert len(found) == 7


def test_kind_asks_for_docs_or_for_code_alone(mixed: Workshop) -> None:
    asked = {kind: set(paths(mixed.json("query", text="upload", kind=kind))) for kind in KINDS}
    assert asked["docs"] == {"CHANGELOG.md", "docs/uploads.md"}
    assert asked["code"] == {
        "src/uploads.py",
        "dist/app.js",
        "tests/test_uploads.py",
        "web/all.js",
    }
    assert asked["any"] == asked["docs"] | asked["code"] | {"package-lock.json"}
    assert paths(mixed.json("query", text="upload", kind="docs"))[0] == "docs/uploads.md"
    literal = mixed.json("query", text="retry of uploads", mode="literal", kind="docs")
    assert set(paths(literal)) == asked["docs"]


def test_of_a_large_file_the_piece_that_answers_is_read(shop: Workshop) -> None:
    shop.file("a.c", "int other_thing(void);\n" * 20_000 + "zebra crossing\n")
    shop.file("b.c", "zebra\nof a\ncrossing\n" + "int other_thing(void);\n" * 10)
    ranked = Ranked([RankedFile("b.c", 1.0), RankedFile("a.c", 1.0, piece=1)])
    shop.application.services.index = ranked
    assert paths(shop.json("query", text="zebra crossing")) == ["a.c", "b.c"]


def test_a_question_about_the_changelog_or_the_tests_finds_them(mixed: Workshop) -> None:
    ask = "retry_upload job", "tests of retry_upload job", "changelog: retry of uploads"
    first = [paths(mixed.json("query", text=text))[0] for text in ask]
    assert first == ["src/uploads.py", "tests/test_uploads.py", "CHANGELOG.md"]


# ── literal and regex ───────────────────────────────────────────────────────────────────────────


def test_literal_takes_the_text_as_it_stands(shop: Workshop) -> None:
    shop.file("a.c", "x = a->b(c);\n\n\ny = a->b(c);\n")
    shop.file("b.c", "x = a->b(c);\n")
    answer = shop.json("query", text="a->b(c)", mode="literal")
    assert paths(answer) == ["a.c", "b.c"]
    assert answer["results"][0]["preview"] == "1: x = a->b(c);\n4: y = a->b(c);"
    assert paths(shop.json("query", text="Upload", mode="literal")) == ["net/retry.py"]
    assert paths(shop.json("query", text="   ", mode="literal", include=["*.py"])) == [
        "net/retry.py",
        "net/tests/test_retry.py",
    ]
    assert paths(shop.json("query", text="h)\n{", mode="literal")) == ["core/parser.c"]


def test_regex_is_re2(shop: Workshop) -> None:
    assert paths(shop.json("query", text=r"ret\w+_upload", mode="regex")) == [
        "net/retry.py",
        "net/tests/test_retry.py",
    ]
    shop.error("query", "invalid_pattern", text="a(", mode="regex")
    shop.error("query", "invalid_pattern", text="(?=a)", mode="regex")


# ── what is refused ─────────────────────────────────────────────────────────────────────────────

REFUSED = [
    {},
    {"text": ""},
    {"text": "  \n"},
    {"text": "-> ++ !!"},
    {"text": "x" * (limits.QUERY_CHARS + 1)},
    {"text": "x" * 100_000},
    {"text": "upload", "limit": 0},
    {"text": "upload", "limit": "many"},
    {"text": "upload", "offset": -1},
    {"text": "upload", "context": -1},
    {"text": "upload", "mode": "clever"},
    {"text": "upload", "kind": "prose"},
    {"text": ["upload"]},
]


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_cannot_be_asked_is_refused(shop: Workshop, arguments: dict[str, Any]) -> None:
    assert shop.error("query", "invalid_params", **arguments)["message"]


ANSWERED = ["the of and", "nul\0byte upload", "\\C upload [a-z]+", "upload " * 1000, "漢字 upload"]


@pytest.mark.parametrize("text", ANSWERED)
def test_odd_texts_are_answered(shop: Workshop, text: str) -> None:
    assert shop.json("query", text=text)["total"] >= 0


# ── budget, direct, index ───────────────────────────────────────────────────────────────────────


def test_a_tool_stays_in_its_budget_and_a_direct_method_has_none(tmp_path: Path) -> None:
    with workshop(tmp_path, no_index=True, max_output_chars=2_000) as shop:
        for number in range(40):
            shop.file(f"f{number:02}.py", f"def needle_{number}():\n    return {'x' * 100}\n")
        answer = shop.call("query", text="needle", limit=40)
        assert len(answer.text) <= 2_000
        assert answer.data is not None
        shown = len(answer.data["results"])
        assert 0 < shown < 40
        assert answer.data["next_offset"] == shown
        assert len(shop.direct("query", text="needle", limit=40)["results"]) == 40


class Ranked(NoIndex):
    """An index that ranks as it is told."""

    def __init__(self, files: list[RankedFile]) -> None:
        super().__init__()
        self.files_told = files

    def ranked(
        self, text: str, keeps: Callable[[str], bool], stopped: Callable[[], bool]
    ) -> list[RankedFile] | None:
        assert text
        assert not stopped()
        return [file for file in self.files_told if keeps(file.path)]


def test_the_index_ranks_and_the_disk_has_the_lines(shop: Workshop) -> None:
    order = [
        RankedFile("docs/guide.md", 9.0),
        RankedFile("gone.py", 5.0),
        RankedFile("net/retry.py", 1.23456),
    ]
    shop.application.services.index = Ranked(order)
    answer = shop.json("query", text="upload")
    assert paths(answer) == ["docs/guide.md", "net/retry.py"]
    assert all(r["score"] == round(r["score"], 3) for r in answer["results"])
    assert answer["total"] == 3
    assert paths(shop.json("query", text="upload", include=["*.py"])) == ["net/retry.py"]


# ── passages ────────────────────────────────────────────────────────────────────────────────────


def passage(text: str, words: str) -> Any:
    return best_passage(text.encode(), word_finder(RankedQuestion(words)), 0)


def test_the_passage_is_where_the_words_stand_together() -> None:
    filler = "".join(f"line {n}\n" for n in range(200))
    found = passage(f"alpha\n{filler}beta\n{filler}alpha beta\n{filler}", "alpha beta")
    assert found.start_line <= 403 <= found.end_line
    assert found.preview == "403: alpha beta"
    assert found.symbol is None


def test_a_passage_begins_with_its_definition() -> None:
    body = "".join(f"\tint v{n};\n" for n in range(10))
    found = passage(f"int f(void)\n{{\n{body}\tneedle;\n}}\n\nint g(void)\n{{\n}}\n", "needle")
    assert (found.start_line, found.end_line, found.symbol) == (1, 15, "f")


def test_a_file_that_has_only_the_name_shows_its_beginning() -> None:
    found = passage("first\nsecond\n", "elsewhere")
    assert (found.start_line, found.end_line, found.preview) == (1, 2, "1: first")
    assert passage("", "anything") is None


# ── what commits say ────────────────────────────────────────────────────────────────────────────


def test_a_commit_that_says_what_is_asked_for_speaks_for_its_files(tmp_path: Path) -> None:
    with workshop(tmp_path, no_index=True) as shop:
        shop.file("a/first.py", "# the session, and again the session\n")
        shop.file("b/second.py", "# of a session\n")
        asked = {"text": "resume lost session"}
        assert paths(shop.json("query", **asked)) == ["a/first.py", "b/second.py"]
        repo = Repo(shop.root)
        repo.git("add", "b")
        repo.git("commit", "--quiet", "--message", "Resume a session that was lost")
        end = time.monotonic() + PATIENCE_SECONDS  # they are read beside the questions
        while paths(shop.json("query", **asked)) != ["b/second.py", "a/first.py"]:
            assert time.monotonic() < end
