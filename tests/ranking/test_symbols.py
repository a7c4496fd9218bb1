"""Definitions by tree-sitter, by language; and by shape where a parser does not see them."""

from __future__ import annotations

import pytest

from flashgrep.errors import Cancelled
from flashgrep.ranking import symbols
from flashgrep.ranking.languages import language_of
from flashgrep.ranking.symbols import Shapes, SymbolParser, definitions_in, word_pattern
from tests.scarcity import no_more_files

SOURCES = {
    "a.c": (
        "#define LIMIT 5\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
        "struct node {\n\tint x;\n};\nenum color { RED, GREEN = 2 };\n"
        "typedef unsigned long ulong_t;\ntypedef int (*callback_t)(int);\nunion both { int a; };\n"
        "static struct node *\nnext_node(struct node *n)\n{\n\treturn n;\n}\n"
        "static int __init setup(void)\n{\n\treturn LIMIT;\n}\n"
        "int proto(int);\nstatic int table[] = { 1, 2 };\n"
    ),
    "a.cpp": (
        "namespace zoo {\nclass Cat : public Animal {\n public:\n  void meow() { }\n};\n}\n"
        "int zoo::Cat::age(int x) const\n{\n  return x;\n}\nusing Id = int;\n"
    ),
    "a.py": (
        "LIMIT = 5\nclass Cat(Animal):\n    legs = 4\n    def meow(self, x: int) -> str:\n"
        "        return x\n\nasync def feed(cat):\n    pass\n"
    ),
    "a.go": (
        "package zoo\n\ntype Cat struct {\n\tAge int\n}\n"
        "type Feeder interface {\n\tFeed(c Cat)\n}\n"
        "const Limit = 5\nfunc (c *Cat) Meow(x int) error {\n\treturn nil\n}\nfunc New() Cat {\n"
        "\treturn Cat{}\n}\n"
    ),
    "a.rs": (
        "pub struct Cat { age: u8 }\nenum Color { Red, Green }\ntrait Feed { fn feed(&self); }\n"
        "impl Cat {\n    pub fn meow(&self) -> u8 { 1 }\n}\nmacro_rules! purr { () => {}; }\n"
        "const LIMIT: u8 = 5;\nmod inner {}\n"
    ),
    "a.js": (
        "export class Cat extends Animal {\n  meow(x) {\n    return x;\n  }\n}\n"
        "function feed(cat) {}\nconst pet = (cat) => cat;\nconst LIMIT = 5;\n"
    ),
    "a.ts": (
        "export interface Feeder { feed(c: Cat): void }\nexport type Id = string;\n"
        "enum Color { Red, Green = 2 }\n"
        "abstract class Cat { meow(x: number): string { return ''; } }\n"
        "export function feed<T>(cat: T): void {}\n"
    ),
    "a.java": (
        "public class Cat implements Animal {\n  private static final int LIMIT = 5;\n"
        "  public Cat() { }\n  public String meow(int x) { return null; }\n}\n"
        "interface Feeder { void feed(Cat c); }\nenum Color { RED, GREEN }\n"
    ),
    "a.cs": (
        "namespace Zoo {\n  public class Cat : Animal {\n    public int Age { get; set; }\n"
        "    public string Meow(int x) { return null; }\n  }\n  enum Color { Red }\n"
        "  interface IFeeder { void Feed(Cat c); }\n}\n"
    ),
    "a.rb": (
        "module Zoo\n  LIMIT = 5\n  class Cat\n    def meow(x)\n    end\n"
        "    def self.feed\n    end\n  end\nend\n"
    ),
    "a.php": (
        "<?php\nnamespace Zoo;\nconst LIMIT = 5;\nclass Cat extends Animal {\n"
        "  public function meow($x) { return 1; }\n}\nfunction feed($cat) {}\ninterface Feeder {}\n"
    ),
    "a.sh": "#!/bin/sh\nLIMIT=5\nfeed() {\n  echo meow\n}\nfunction pet {\n  :\n}\n",
}
FOUND = [
    ("a.c", "LIMIT", 1, "macro"),
    ("a.c", "MAX", 2, "macro"),
    ("a.c", "node", 3, "struct"),
    ("a.c", "color", 6, "enum"),
    ("a.c", "GREEN", 6, "constant"),
    ("a.c", "ulong_t", 7, "type"),
    ("a.c", "callback_t", 8, "type"),
    ("a.c", "both", 9, "union"),
    ("a.c", "next_node", 11, "function"),
    ("a.c", "setup", 15, "function"),
    ("a.c", "table", 20, "variable"),
    ("a.c", "proto", None, ""),
    ("a.cpp", "zoo", 1, "namespace"),
    ("a.cpp", "Cat", 2, "class"),
    ("a.cpp", "meow", 4, "method"),
    ("a.cpp", "age", 7, "method"),
    ("a.cpp", "Id", 11, "type"),
    ("a.py", "LIMIT", 1, "variable"),
    ("a.py", "Cat", 2, "class"),
    ("a.py", "legs", 3, "variable"),
    ("a.py", "meow", 4, "method"),
    ("a.py", "feed", 7, "function"),
    ("a.go", "Cat", 3, "type"),
    ("a.go", "Feeder", 6, "type"),
    ("a.go", "Limit", 9, "constant"),
    ("a.go", "Meow", 10, "method"),
    ("a.go", "New", 13, "function"),
    ("a.rs", "Cat", 1, "struct"),
    ("a.rs", "Green", 2, "constant"),
    ("a.rs", "Feed", 3, "interface"),
    ("a.rs", "meow", 5, "method"),
    ("a.rs", "purr", 7, "macro"),
    ("a.rs", "LIMIT", 8, "constant"),
    ("a.rs", "inner", 9, "module"),
    ("a.js", "Cat", 1, "class"),
    ("a.js", "meow", 2, "method"),
    ("a.js", "feed", 6, "function"),
    ("a.js", "pet", 7, "function"),
    ("a.js", "LIMIT", 8, "variable"),
    ("a.ts", "Feeder", 1, "interface"),
    ("a.ts", "Id", 2, "type"),
    ("a.ts", "Color", 3, "enum"),
    ("a.ts", "Green", 3, "constant"),
    ("a.ts", "Cat", 4, "class"),
    ("a.ts", "meow", 4, "method"),
    ("a.ts", "feed", 5, "function"),
    ("a.java", "Cat", 1, "class"),
    ("a.java", "LIMIT", 2, "variable"),
    ("a.java", "meow", 4, "method"),
    ("a.java", "Feeder", 6, "interface"),
    ("a.java", "GREEN", 7, "constant"),
    ("a.cs", "Cat", 2, "class"),
    ("a.cs", "Age", 3, "variable"),
    ("a.cs", "Meow", 4, "method"),
    ("a.cs", "Red", 6, "constant"),
    ("a.cs", "IFeeder", 7, "interface"),
    ("a.rb", "Zoo", 1, "module"),
    ("a.rb", "LIMIT", 2, "constant"),
    ("a.rb", "Cat", 3, "class"),
    ("a.rb", "meow", 4, "method"),
    ("a.rb", "feed", 6, "method"),
    ("a.php", "Cat", 4, "class"),
    ("a.php", "meow", 5, "method"),
    ("a.php", "feed", 7, "function"),
    ("a.php", "Feeder", 8, "interface"),
    ("a.sh", "LIMIT", 2, "variable"),
    ("a.sh", "feed", 3, "function"),
    ("a.sh", "pet", 6, "function"),
]


def lines_with(text: str, name: str) -> list[int]:
    return [at for at, line in enumerate(text.split("\n"), 1) if name in line]


@pytest.mark.parametrize(("path", "name", "line", "kind"), FOUND)
def test_a_definition_is_found(path: str, name: str, line: int | None, kind: str) -> None:
    text = SOURCES[path]
    found = definitions_in(path, text.encode(), name, lines_with(text, name))
    kinds = {one.line: one.kind for one in found}
    assert kinds.get(line) == kind if line else not found
    assert all(name in one.signature for one in found)


@pytest.mark.parametrize(("path", "name", "line", "kind"), FOUND)
def test_its_line_looks_like_one(path: str, name: str, line: int | None, kind: str) -> None:
    """What `Shapes` passes over is never parsed, so it must know every shape the parsers know."""
    if line is not None:
        assert Shapes(name).grade(SOURCES[path].split("\n")[line - 1]) is not None, kind


USES = ["\tfoo(x);", "x = foo(y);", "\tif (foo(x)) {", "// see foo", "\treturn foo(", "foo(x);"]


@pytest.mark.parametrize("line", USES)
def test_a_use_does_not_look_like_a_definition(line: str) -> None:
    assert Shapes("foo").grade(line) is None


def test_the_signature_is_on_one_line_and_without_the_body() -> None:
    text = b"static int\nadd(int a,\n    int b)\n{\n\treturn a + b;\n}\n"
    (found,) = definitions_in("a.c", text, "add", [2])
    assert found.signature == "static int add(int a, int b)"


def test_a_language_without_a_grammar_is_read_by_shape() -> None:
    (found,) = definitions_in("a.lua", b"x = 1\nfunction feed(cat)\nend\n", "feed", [2])
    assert (found.line, found.kind) == (2, "function")
    assert definitions_in("a.md", b"function feed(cat)\n", "feed", [1]) == []
    assert definitions_in("README", b"function feed(cat)\n", "feed", [1]) == []


def test_of_a_large_file_the_surroundings_are_enough() -> None:
    filler = "int filler_%d(void)\n{\n\treturn %d;\n}\n\n"
    before = "".join(filler % (n, n) for n in range(3000))
    text = f"{before}int wanted(int x)\n{{\n\treturn x;\n}}\n\n{before}"
    line = before.count("\n") + 1
    (found,) = definitions_in("a.c", text.encode(), "wanted", [line])
    assert (found.line, found.kind) == (line, "function")


def test_a_body_longer_than_the_surroundings_is_found_too() -> None:
    text = "struct big {\n" + "".join(f"\tint field_{n};\n" for n in range(8000)) + "};\n"
    (found,) = definitions_in("a.c", text.encode(), "big", [1])
    assert (found.line, found.kind) == (1, "struct")


WORDS = [
    ("foo", r"\bfoo\b"),
    ("a.b", r"\ba\.b\b"),
    ("~Foo", r"\~Foo\b"),
    ("operator+", r"\boperator\+"),
]


@pytest.mark.parametrize(("name", "pattern"), WORDS)
def test_a_name_is_a_word_where_it_can_be(name: str, pattern: str) -> None:
    assert word_pattern(name) == pattern


def test_scripts_without_extension_are_known_by_their_first_line() -> None:
    assert language_of("bin/run", b"#!/bin/bash\n") is language_of("x.sh", b"")
    assert language_of("bin/run", b"#!/usr/bin/env python3\n") is language_of("x.py", b"")
    assert language_of("bin/run", b"plain text\n") is None
    assert language_of("x.h", b"\nnamespace a {\n") is language_of("x.cpp", b"")


# ── the process ─────────────────────────────────────────────────────────────────────────────────


def test_the_process_answers_and_survives_a_cancelled_call() -> None:
    parser = SymbolParser()
    try:
        text = SOURCES["a.py"].encode()
        (found,) = parser.definitions("a.py", text, "feed", [7], False)
        assert (found.line, found.kind) == (7, "function")
        with pytest.raises(Cancelled):
            parser.definitions("a.py", b"x = [\n" * 100_000, "feed", [7], True)
        assert parser.definitions("a.py", text, "feed", [7], False) == [found]
    finally:
        parser.close()


def test_a_process_that_dies_is_replaced() -> None:
    parser = SymbolParser()
    try:
        text = SOURCES["a.py"].encode()
        assert parser.definitions("a.py", text, "feed", [7], False)
        worker = parser._worker
        assert worker is not None
        worker._process.kill()
        worker._process.wait()
        assert parser.definitions("a.py", text, "feed", [7], False)
    finally:
        parser.close()


@pytest.mark.thorough
def test_a_file_at_which_every_process_dies_counts_as_not_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parser = SymbolParser()
    try:
        text = SOURCES["a.py"].encode()
        with monkeypatch.context() as patched:
            patched.setattr(symbols, "_MODULE", "flashgrep.limits")  # ends at once
            with pytest.raises(symbols.NotParsed):
                parser.definitions("a.py", text, "feed", [7], False)
        with no_more_files(), pytest.raises(symbols.NotParsed):
            parser.definitions("a.py", text, "feed", [7], False)
        assert parser.definitions("a.py", text, "feed", [7], False)
    finally:
        parser.close()
