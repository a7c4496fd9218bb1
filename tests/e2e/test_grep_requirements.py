"""grep's requirements: one test for each scenario, through a real client on stdio.

Long because it is a list, in the order of the document; no test uses another one's files.
Where the document asks for an empty result, the answer is `No matches found`: agents take silence
for failure. A page that is not the last one, and paths below another directory than the working
directory, end in one line in parentheses that says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.e2e.agent import Agent, Workspace
from tests.e2e.scenarios import scenario

NOTHING = "No matches found"
ERR = "  if err != nil {"


def content(agent: Agent, pattern: str, **arguments: Any) -> list[str]:
    """The lines of a search in content mode."""
    return agent.lines("grep", pattern=pattern, output_mode="content", **arguments)


def found(agent: Agent, pattern: str, **arguments: Any) -> set[str]:
    """The files a search names, whatever their order, without what is said of them."""
    lines = agent.lines("grep", pattern=pattern, **arguments)
    return {line for line in lines if line != NOTHING and not line.startswith("(paths are ")}


# ── Search file contents with regex pattern ─────────────────────────────────────────────────────


@scenario("Simple literal search")
def test_simple_literal_search(normal: Agent, ws: Workspace) -> None:
    ws.file("a.py", "x = 1  # TODO: more\n")
    ws.file("b.py", "nothing to do\n")
    ws.file("sub/c.py", "one\n# TODO\n")
    assert content(normal, "TODO") == ["a.py:1:x = 1  # TODO: more", "--", "sub/c.py:2:# TODO"]


@scenario("Regex pattern search")
def test_regex_pattern_search(normal: Agent, ws: Workspace) -> None:
    ws.file("main.go", "package main\n\nfunc main() {\n}\nfunc  add(a int) int {\nfunction x\n")
    assert content(normal, r"func\s+\w+\(") == [
        "main.go:3:func main() {",
        "--",
        "main.go:5:func  add(a int) int {",
    ]


@scenario("Invalid regex pattern")
def test_invalid_regex_pattern(normal: Agent, ws: Workspace) -> None:
    told = normal.refused("grep", "invalid_pattern", pattern="[invalid")
    assert "missing ]: [invalid" in told


@scenario("Empty pattern")
def test_empty_pattern(normal: Agent, ws: Workspace) -> None:
    assert "must not be empty" in normal.refused("grep", "invalid_pattern", pattern="")


# ── Search path defaults to session cwd ─────────────────────────────────────────────────────────


@scenario("Path omitted defaults to cwd")
def test_path_omitted_defaults_to_cwd(normal: Agent, ws: Workspace, beside: Path) -> None:
    ws.files("error\n", "top.txt", "a/b/c/deep.txt")
    (beside / "out.txt").write_text("error\n")
    assert found(normal, "error") == {"top.txt", "a/b/c/deep.txt"}


@scenario("Relative path resolved against cwd")
def test_relative_path_resolved_against_cwd(normal: Agent, ws: Workspace) -> None:
    ws.files("error\n", "top.txt", "src/one.txt", "src/deep/two.txt")
    assert found(normal, "error", path="src") == {"one.txt", "deep/two.txt"}


@scenario("Absolute path used directly")
def test_absolute_path_used_directly(normal: Agent, ws: Workspace) -> None:
    ws.files("error\n", "top.txt", "src/one.txt", "src/deep/two.txt")
    assert found(normal, "error", path=str(ws.root / "src")) == {"one.txt", "deep/two.txt"}


@scenario("Path is a single file")
def test_path_is_a_single_file(normal: Agent, ws: Workspace) -> None:
    ws.files("error\n", "main.go", "other.go", "sub/main.go")
    assert normal.text("grep", pattern="error", path="main.go") == "main.go"


@scenario("Path does not exist")
def test_path_does_not_exist(normal: Agent, ws: Workspace) -> None:
    told = normal.refused("grep", "not_found", pattern="x", path="nonexistent")
    assert told == (f"Path not found: nonexistent; the current working directory is {ws.root}.")


# ── File filtering via include glob ─────────────────────────────────────────────────────────────


@scenario("Include filter matches")
def test_include_filter_matches(normal: Agent, ws: Workspace) -> None:
    ws.files("import x\n", "a.py", "sub/b.py", "c.js", "d.go")
    assert found(normal, "import", include="*.py") == {"a.py", "sub/b.py"}


@scenario("Include filter with no matches")
def test_include_filter_with_no_matches(normal: Agent, ws: Workspace) -> None:
    ws.files("import x\n", "a.py", "c.js")
    assert normal.text("grep", pattern="import", include="*.rs") == NOTHING


@scenario("Include filter omitted")
def test_include_filter_omitted(normal: Agent, ws: Workspace) -> None:
    ws.files("import x\n", "a.py", "c.js", "Makefile", ".hidden", "node_modules/m.js")
    ws.file("tool.bin", b"\x7fELF\x02\x01\x01\x00 import x\n")
    assert found(normal, "import") == {"a.py", "c.js", "Makefile", ".hidden"}


# ── File type filtering via type parameter ──────────────────────────────────────────────────────


@scenario("Type filter matches")
def test_type_filter_matches(normal: Agent, ws: Workspace) -> None:
    ws.files("func\n", "a.go", "sub/b.go", "c.py", "d.js")
    assert found(normal, "func", type="go") == {"a.go", "sub/b.go"}


@scenario("Compound type filter")
def test_compound_type_filter(normal: Agent, ws: Workspace) -> None:
    ws.files("x\n", "app.ts", "component.tsx", "helper.mts", "style.css")
    assert found(normal, "x", type="ts") == {"app.ts", "component.tsx", "helper.mts"}


@scenario("Type alias")
def test_type_alias(normal: Agent, ws: Workspace) -> None:
    ws.files("x\n", "a.py", "b.pyi", "c.pyc", "d.txt")
    assert found(normal, "x", type="python") == {"a.py", "b.pyi"}
    assert found(normal, "x", type="py") == {"a.py", "b.pyi"}


@scenario("Invalid type name")
def test_invalid_type_name(normal: Agent, ws: Workspace) -> None:
    told = normal.refused("grep", "invalid_params", pattern="x", type="brainfuck")
    valid = told.partition("Valid types: ")[2].split(", ")
    assert {"c", "cpp", "css", "go", "html", "java", "js", "json"} <= set(valid)
    assert {"markdown", "py", "rust", "ts", "yaml", "python", "typescript", "md"} <= set(valid)


@scenario("Type and include both specified")
def test_type_and_include_both_specified(normal: Agent, compat: Agent, ws: Workspace) -> None:
    ws.files("x\n", "a.js", "b.mjs", "c.mjs.txt", "d.py")
    assert found(normal, "x", type="js", include="*.mjs") == {"b.mjs"}
    assert found(compat, "x", type="js", glob="*.mjs") == {"b.mjs"}
    assert found(normal, "x", type="js", include="*.py") == set()


# ── Three output modes ──────────────────────────────────────────────────────────────────────────


@scenario("Content mode")
def test_content_mode(normal: Agent, ws: Workspace) -> None:
    ws.numbered("src/main.go", 50, L42="  return error")
    assert content(normal, "error") == ["src/main.go:42:  return error"]


@scenario("Files with matches is the default")
def test_files_with_matches_is_the_default(normal: Agent, ws: Workspace) -> None:
    ws.file("a.txt", "error\nerror\n", modified=1_000)
    ws.file("b.txt", "error\n", modified=2_000)
    default = normal.text("grep", pattern="error")
    assert default == "b.txt\na.txt"
    assert default == normal.text("grep", pattern="error", output_mode="files_with_matches")


@scenario("Files with matches mode")
def test_files_with_matches_mode(normal: Agent, ws: Workspace) -> None:
    ws.file("middle.txt", "error\n", modified=2_000)
    ws.file("oldest.txt", "error\nerror\n", modified=1_000)
    ws.file("sub/newest.txt", "error\n", modified=3_000)
    ws.file("other.txt", "fine\n", modified=4_000)
    assert normal.lines("grep", pattern="error", output_mode="files_with_matches") == [
        "sub/newest.txt",
        "middle.txt",
        "oldest.txt",
    ]


@scenario("Count mode")
def test_count_mode(normal: Agent, ws: Workspace) -> None:
    ws.file("src/main.go", "error error\n" * 5 + "fine\n")
    ws.file("a.go", "error\n")
    ws.file("b.go", "fine\n")
    assert normal.lines("grep", pattern="error", output_mode="count") == ["a.go:1", "src/main.go:5"]


@scenario("Invalid output mode")
def test_invalid_output_mode(normal: Agent, ws: Workspace) -> None:
    told = normal.refused("grep", "invalid_params", pattern="x", output_mode="summary")
    assert "summary" in told
    for valid in ("content", "files_with_matches", "count"):
        assert valid in told


# ── Content mode line number display ────────────────────────────────────────────────────────────


@scenario("Line numbers shown by default")
def test_line_numbers_shown_by_default(normal: Agent, ws: Workspace) -> None:
    ws.numbered("src/main.go", 50, L42=ERR)
    assert content(normal, "err != nil") == [f"src/main.go:42:{ERR}"]


@scenario("Line numbers suppressed")
def test_line_numbers_suppressed(normal: Agent, compat: Agent, ws: Workspace) -> None:
    ws.numbered("src/main.go", 50, L42=ERR)
    assert content(normal, "err != nil", line_numbers=False) == [f"src/main.go:{ERR}"]
    assert content(compat, "err != nil", **{"-n": False}) == [f"src/main.go:{ERR}"]
    assert content(normal, "err", line_numbers=False, context=1) == [
        "src/main.go-line 41",
        f"src/main.go:{ERR}",
        "src/main.go-line 43",
    ]


@scenario("Multiple matches in same file")
def test_multiple_matches_in_same_file(normal: Agent, ws: Workspace) -> None:
    ws.numbered("src/main.go", 30, L10="error ten", L25="error twenty-five")
    lines = content(normal, "error")
    assert lines == ["src/main.go:10:error ten", "--", "src/main.go:25:error twenty-five"]


@scenario("Line numbers ignored outside content mode")
def test_line_numbers_ignored_outside_content_mode(normal: Agent, ws: Workspace) -> None:
    ws.file("a.txt", "error\n")
    mode = "files_with_matches"
    assert normal.text("grep", pattern="error", output_mode=mode, line_numbers=False) == "a.txt"
    assert (
        normal.text("grep", pattern="error", output_mode="count", line_numbers=False) == "a.txt:1"
    )


# ── Context lines in content mode ───────────────────────────────────────────────────────────────


@scenario("Before context")
def test_before_context(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error")
    lines = content(normal, "error", context_before=2)
    assert lines == ["f.txt-8-line 8", "f.txt-9-line 9", "f.txt:10:error"]


@scenario("After context")
def test_after_context(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error")
    lines = content(normal, "error", context_after=2)
    assert lines == ["f.txt:10:error", "f.txt-11-line 11", "f.txt-12-line 12"]


@scenario("Context shorthand")
def test_context_shorthand(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error")
    lines = content(normal, "error", context=3)
    assert lines == [
        *(f"f.txt-{number}-line {number}" for number in (7, 8, 9)),
        "f.txt:10:error",
        *(f"f.txt-{number}-line {number}" for number in (11, 12, 13)),
    ]
    assert lines == content(normal, "error", context_before=3, context_after=3)


@scenario("Explicit overrides shorthand")
def test_explicit_overrides_shorthand(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error")
    assert content(normal, "error", context=3, context_before=1) == [
        "f.txt-9-line 9",
        "f.txt:10:error",
        *(f"f.txt-{number}-line {number}" for number in (11, 12, 13)),
    ]
    assert content(normal, "error", context=1, context_after=0) == [
        "f.txt-9-line 9",
        "f.txt:10:error",
    ]


@scenario("Overlapping context merged")
def test_overlapping_context_merged(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error one", L12="error two")
    assert content(normal, "error", context=1) == [
        "f.txt-9-line 9",
        "f.txt:10:error one",
        "f.txt-11-line 11",
        "f.txt:12:error two",
        "f.txt-13-line 13",
    ]


@scenario("Non-contiguous matches separated within file")
def test_non_contiguous_matches_separated_within_file(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 60, L10="error", L50="error")
    assert content(normal, "error") == ["f.txt:10:error", "--", "f.txt:50:error"]


@scenario("Separator between different files")
def test_separator_between_different_files(normal: Agent, ws: Workspace) -> None:
    ws.files("error\n", "a.go", "b.go")
    assert content(normal, "error") == ["a.go:1:error", "--", "b.go:1:error"]


@scenario("No separator for adjacent matches in same file")
def test_no_separator_for_adjacent_matches_in_same_file(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error", L11="error")
    assert content(normal, "error") == ["f.txt:10:error", "f.txt:11:error"]


@scenario("Context at file boundaries")
def test_context_at_file_boundaries(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 3, L2="error")
    assert content(normal, "error", context_before=5) == ["f.txt-1-line 1", "f.txt:2:error"]
    assert content(normal, "error", context_after=5) == ["f.txt:2:error", "f.txt-3-line 3"]


@scenario("Context ignored outside content mode")
def test_context_ignored_outside_content_mode(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="error")
    mode = "files_with_matches"
    assert normal.text("grep", pattern="error", output_mode=mode, context=3) == "f.txt"
    assert normal.text("grep", pattern="error", output_mode="count", context=3) == "f.txt:1"


# ── Case-insensitive search ─────────────────────────────────────────────────────────────────────


@scenario("Case-insensitive match")
def test_case_insensitive_match(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "Error\nERROR\nerror\neRrOr\nfine\n")
    assert content(normal, "error", case_insensitive=True) == [
        "f.txt:1:Error",
        "f.txt:2:ERROR",
        "f.txt:3:error",
        "f.txt:4:eRrOr",
    ]


@scenario("Case-sensitive by default")
def test_case_sensitive_by_default(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "Error\nERROR\nerror\neRrOr\nfine\n")
    assert content(normal, "Error") == ["f.txt:1:Error"]


# ── Pagination via head_limit and offset ────────────────────────────────────────────────────────


def matches(first: int, last: int) -> list[str]:
    """Matches of `fifty` as content mode prints them, without separators."""
    return [f"f.txt:{number}:match {number}" for number in range(first, last + 1)]


def fifty(ws: Workspace, count: int = 50) -> None:
    """A file of so many matching lines."""
    ws.file("f.txt", "".join(f"match {number}\n" for number in range(1, count + 1)))


def many_files(ws: Workspace) -> list[str]:
    """Fifty files, newest first as they are named."""
    names = [f"many/{number:02}.txt" for number in range(1, 51)]
    for age, name in enumerate(names):
        ws.file(name, "hit\n", modified=10_000 - age)
    return names


@scenario("head_limit truncates results")
def test_head_limit_truncates_results(normal: Agent, ws: Workspace) -> None:
    fifty(ws)
    names = many_files(ws)
    more = "(more; next: offset 10)"
    assert content(normal, "match", head_limit=10) == [*matches(1, 10), more]
    assert normal.lines("grep", pattern="hit", head_limit=10) == [*names[:10], more]
    counted = normal.lines("grep", pattern="hit", output_mode="count", head_limit=10)
    assert counted == [*(f"{name}:1" for name in names[:10]), more]


@scenario("Unlimited by default")
def test_unlimited_by_default(normal: Agent, ws: Workspace) -> None:
    fifty(ws, 200)
    assert content(normal, "match") == matches(1, 200)
    assert content(normal, "match", head_limit=0) == matches(1, 200)


@scenario("Offset skips results")
def test_offset_skips_results(normal: Agent, ws: Workspace) -> None:
    fifty(ws)
    names = many_files(ws)
    more = "(more; next: offset 30)"
    assert content(normal, "match", head_limit=10, offset=20) == [*matches(21, 30), more]
    page = normal.lines("grep", pattern="hit", head_limit=10, offset=20)
    assert page == [*names[20:30], more]
    counted = normal.lines("grep", pattern="hit", output_mode="count", head_limit=10, offset=20)
    assert counted == [*(f"{name}:1" for name in names[20:30]), more]


@scenario("Offset without head_limit")
def test_offset_without_head_limit(normal: Agent, ws: Workspace) -> None:
    fifty(ws)
    names = many_files(ws)
    assert content(normal, "match", offset=10) == matches(11, 50)
    assert normal.lines("grep", pattern="hit", offset=10) == names[10:]


@scenario("Offset exceeds total results")
def test_offset_exceeds_total_results(normal: Agent, ws: Workspace) -> None:
    fifty(ws)
    many_files(ws)
    told = ["(no more results: offset 100, 50 in total)"]
    assert content(normal, "match", offset=100) == told
    assert normal.lines("grep", pattern="hit", offset=100) == told
    assert normal.lines("grep", pattern="hit", output_mode="count", offset=100) == told


# ── Skip binary files ───────────────────────────────────────────────────────────────────────────


@scenario("Binary file skipped")
def test_binary_file_skipped(normal: Agent, ws: Workspace) -> None:
    ws.file("a.out", Path("/proc/self/exe").read_bytes()[:100_000] + b"\nneedle\n")
    ws.file("a.txt", "needle\n")
    assert normal.text("grep", pattern="needle") == "a.txt"


@scenario("JSON file searched")
def test_json_file_searched(normal: Agent, ws: Workspace) -> None:
    ws.file("package.json", '{\n  "name": "needle"\n}\n')
    assert content(normal, "needle") == ['package.json:2:  "name": "needle"']


@scenario("Text file searched")
def test_text_file_searched(normal: Agent, ws: Workspace) -> None:
    ws.file("tool.py", "#!/usr/bin/env python\nneedle = 1\n")
    assert content(normal, "needle") == ["tool.py:2:needle = 1"]


# ── Skip noise directories ──────────────────────────────────────────────────────────────────────


@scenario(".git directory skipped")
def test_git_directory_skipped(normal: Agent, ws: Workspace) -> None:
    ws.files("needle\n", ".git/config", ".git/hooks/pre-commit", "a.txt", ".github/w.yml")
    assert found(normal, "needle") == {"a.txt", ".github/w.yml"}


@scenario("node_modules skipped")
def test_node_modules_skipped(normal: Agent, ws: Workspace) -> None:
    ws.files("needle\n", "node_modules/m/index.js", "src/index.js")
    assert found(normal, "needle") == {"src/index.js"}


@scenario("Nested node_modules skipped")
def test_nested_node_modules_skipped(normal: Agent, ws: Workspace) -> None:
    ws.files("needle\n", "packages/app/node_modules/m/index.js", "packages/app/index.js")
    assert found(normal, "needle") == {"packages/app/index.js"}


# ── Respect .gitignore patterns ─────────────────────────────────────────────────────────────────


@scenario("Build output ignored")
def test_build_output_ignored(normal: Agent, ws: Workspace) -> None:
    ws.file(".gitignore", "# build output\ndist/\n")
    ws.files("needle\n", "dist/app.js", "dist/deep/app.js", "src/dist.js")
    assert found(normal, "needle") == {"src/dist.js"}


@scenario("Generated files ignored")
def test_generated_files_ignored(normal: Agent, ws: Workspace) -> None:
    ws.file(".gitignore", "*.generated.go\n")
    ws.files("needle\n", "schema.generated.go", "sub/api.generated.go", "schema.go")
    assert found(normal, "needle") == {"schema.go"}


@scenario("Nested gitignore overrides parent")
def test_nested_gitignore_overrides_parent(normal: Agent, ws: Workspace) -> None:
    ws.file(".gitignore", "*.log\n")
    ws.file("src/.gitignore", "!debug.log\n")
    ws.files("needle\n", "debug.log", "src/debug.log", "src/other.log", "src/deep/debug.log")
    assert found(normal, "needle") == {"src/debug.log", "src/deep/debug.log"}


@scenario("No gitignore file present")
def test_no_gitignore_file_present(normal: Agent, ws: Workspace) -> None:
    ws.files("needle\n", "debug.log", "dist/app.js", ".env")
    assert found(normal, "needle") == {"debug.log", "dist/app.js", ".env"}


# ── Follow symlinks during traversal ────────────────────────────────────────────────────────────


@scenario("Symlinked directory searched")
def test_symlinked_directory_searched(normal: Agent, ws: Workspace) -> None:
    ws.files("needle\n", "shared/vendor/lib.go", "shared/vendor/deep/lib.go", "project/main.go")
    ws.link("project/vendor", "../shared/vendor")
    assert found(normal, "needle", path="project") == {
        "main.go",
        "vendor/lib.go",
        "vendor/deep/lib.go",
    }


@scenario("Circular symlink detected")
def test_circular_symlink_detected(normal: Agent, ws: Workspace) -> None:
    ws.file("a/f.txt", "needle\n")
    ws.link("a/b", "../a")
    ws.link("a/self", "self")
    assert normal.text("grep", pattern="needle") == "a/f.txt"
    assert normal.text("grep", pattern="needle", path="a") == "f.txt\n(paths are relative to a/)"


@scenario("Symlinked file searched")
def test_symlinked_file_searched(normal: Agent, ws: Workspace, beside: Path) -> None:
    (beside / "config.json").write_text('{"needle": 1}\n')
    ws.link("config.json", beside / "config.json")
    assert content(normal, "needle") == ['config.json:1:{"needle": 1}']


# ── Multiline matching ──────────────────────────────────────────────────────────────────────────


@scenario("Multiline pattern spans lines")
def test_multiline_pattern_spans_lines(normal: Agent, ws: Workspace) -> None:
    rows = {"L5": "type T struct {", "L6": "  a int", "L7": "  b int", "L8": "}"}
    ws.numbered("t.go", 10, **rows)
    spanned = [f"t.go:{number}:{rows[f'L{number}']}" for number in (5, 6, 7, 8)]
    assert content(normal, r"struct \{.*?\}", multiline=True) == spanned
    assert content(normal, r"struct \{.*?\}", multiline=True, context=1) == [
        "t.go-4-line 4",
        *spanned,
        "t.go-9-line 9",
    ]


@scenario("Multiline disabled by default")
def test_multiline_disabled_by_default(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "foo\nbar\n")
    assert normal.text("grep", pattern="foo.*bar") == NOTHING
    assert normal.text("grep", pattern="foo.*bar", multiline=True) == "f.txt"


@scenario("Multiline in files_with_matches mode")
def test_multiline_in_files_with_matches_mode(normal: Agent, ws: Workspace) -> None:
    ws.file("a.go", "func a() int {\n  return 1\n}\n")
    ws.file("b.go", "func b() {\n}\n")
    mode = "files_with_matches"
    told = normal.text("grep", pattern=r"func.*\n.*return", multiline=True, output_mode=mode)
    assert told == "a.go"


# ── Files with matches sorted by modification time ──────────────────────────────────────────────


@scenario("Newest files first")
def test_newest_files_first(normal: Agent, ws: Workspace) -> None:
    ws.file("old.go", "needle\n", modified=1_704_067_200)  # 2024-01-01
    ws.file("new.go", "needle\n", modified=1_749_945_600)  # 2025-06-15
    told = normal.lines("grep", pattern="needle", output_mode="files_with_matches")
    assert told == ["new.go", "old.go"]


@scenario("Sorting does not affect other modes")
def test_sorting_does_not_affect_other_modes(normal: Agent, ws: Workspace) -> None:
    """Walk order: the entries of a directory by name, a directory's content where its name is."""
    walk = ["B.txt", "a/x.txt", "a/z/y.txt", "a-b.txt", "a.txt", "b/a.txt", "c.txt"]
    for age, name in enumerate(reversed(walk)):
        ws.file(name, "needle\n", modified=1_000 + age % 3)
    printed = [line for line in content(normal, "needle") if line != "--"]
    assert printed == [f"{name}:1:needle" for name in walk]
    counted = normal.lines("grep", pattern="needle", output_mode="count")
    assert counted == [f"{name}:1" for name in walk]


# ── Path scoping enforcement ────────────────────────────────────────────────────────────────────


@scenario("Search root outside allow list")
def test_search_root_outside_allow_list(confined: Agent, ws: Workspace) -> None:
    ws.file("a.txt", "root\n")
    told = confined.refused("grep", "access_denied", pattern="root", path="/etc")
    assert "outside the allowed directories" in told
    assert str(ws.root) in told
    assert confined.text("grep", pattern="root") == "a.txt"


@scenario("Files matching deny pattern skipped")
def test_files_matching_deny_pattern_skipped(confined: Agent, ws: Workspace) -> None:
    ws.files("SECRET\n", ".env", "app/.env", "app/env", "app/.env.example")
    ws.link("app/plain-name", ".env")
    assert found(confined, "SECRET") == {"app/env", "app/.env.example"}


@scenario("No scoping when no allow-dir set")
def test_no_scoping_when_no_allow_dir_set(normal: Agent, ws: Workspace, beside: Path) -> None:
    (beside / "out.txt").write_text("needle\n")
    told = f"out.txt\n(paths are relative to {beside}/)"
    assert normal.text("grep", pattern="needle", path=str(beside)) == told
    relative = os.path.relpath(beside, ws.root)
    assert normal.text("grep", pattern="needle", path=relative) == told


# ── Parameter naming conditional on --anthropic-compat ──────────────────────────────────────────


@scenario("Normal mode parameter names")
def test_normal_mode_parameter_names(normal: Agent, ws: Workspace) -> None:
    ws.files("Needle\n", "a.go", "b.py")
    assert found(normal, "needle", include="*.go", case_insensitive=True) == {"a.go"}
    properties = normal.listed()["grep"].input_schema["properties"]
    named = {"include", "case_insensitive", "line_numbers", "context_before", "context_after"}
    assert named | {"context"} <= properties.keys()
    assert not {"glob", "-i", "-n", "-A", "-B", "-C"} & properties.keys()


@scenario("Compat mode parameter names")
def test_compat_mode_parameter_names(compat: Agent, ws: Workspace) -> None:
    ws.files("Needle\n", "a.go", "b.py")
    assert found(compat, "needle", glob="*.go", **{"-i": True}) == {"a.go"}


@scenario("Compat mode schema exposes Claude Code names")
def test_compat_mode_schema_exposes_claude_code_names(compat: Agent) -> None:
    properties = compat.listed()["grep"].input_schema["properties"]
    assert {"glob", "-i", "-n", "-A", "-B", "-C"} <= properties.keys()
    hidden = {"include", "case_insensitive", "line_numbers", "context_before", "context_after"}
    assert not hidden & properties.keys()
    shared = {"pattern", "path", "type", "output_mode", "multiline", "head_limit", "offset"}
    assert shared <= properties.keys()


# ── Result paths are relative to search root ────────────────────────────────────────────────────


@scenario("Relative paths in directory search")
def test_relative_paths_in_directory_search(normal: Agent, ws: Workspace) -> None:
    ws.numbered("project/src/main.go", 50, L42="needle")
    for path in (str(ws.root / "project"), "project", "project/", "./project/../project"):
        told = ["src/main.go:42:needle", "(paths are relative to project/)"]
        assert content(normal, "needle", path=path) == told


@scenario("Single file search path")
def test_single_file_search_path(normal: Agent, ws: Workspace) -> None:
    ws.numbered("main.go", 50, L42="needle")
    for path in ("main.go", "./main.go", str(ws.root / "main.go")):
        assert content(normal, "needle", path=path) == [f"{path}:42:needle"]
