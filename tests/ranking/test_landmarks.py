"""Lines that look like definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.ranking.words import landmarks

LINES = [
    # C
    ("static int add(int a, int b)\n{", "add"),
    ("struct sched_entity *pick(struct rq *rq)", "pick"),
    ("static struct task_struct *next_task(void)", "next_task"),
    ("struct node {", "node"),
    ("struct node\n{", "node"),
    ("typedef struct node {", "node"),
    ("#define MAX(a, b) ((a) > (b) ? (a) : (b));", "MAX"),
    ("int add(int a, int b);", ""),
    ("struct node *head;", ""),
    ("static struct node head = {", ""),
    ("\tstruct node *head", ""),
    ("\tif (add(1, 2))", ""),
    ("\treturn add(1,", ""),
    ("EXPORT_SYMBOL(add)", ""),
    # C++
    ("void Foo::bar(int x)", "bar"),
    ("class Foo final : public Bar {", "Foo"),
    ("class Foo;", ""),
    ("namespace a::b {", "a::b"),
    # Python
    ("def f(x):", "f"),
    ("    async def g(self):", "g"),
    ("class A(B):", "A"),
    ("print(f(x))", ""),
    ("raise ValueError(x)", ""),
    ("x = f(y)", ""),
    # Go, Rust
    ("func (r *T) Name(a int) error {", "Name"),
    ("func Plain() {", "Plain"),
    ("type S struct {", "S"),
    ("type Names []string", "Names"),
    ("pub(crate) fn run<T>(x: T) -> u8 {", "run"),
    ("impl Display for Foo {", "Display"),
    # JavaScript, Java
    ("export default function f(a) {", "f"),
    ("  public static void main(String[] args) {", "main"),
    ("public class X implements Y {", "X"),
    ("else if (x) {", ""),
    ("for (;;) {", ""),
]


@pytest.mark.parametrize(("text", "name"), LINES)
def test_a_line_names_what_it_defines(text: str, name: str) -> None:
    data = f"{text}\n".encode()
    assert [found for _, found in landmarks(data, 0, len(data))] == (
        [name.encode()] if name else []
    )


def test_each_comes_with_the_place_of_its_line() -> None:
    text = b"int a(void)\n{\n}\n\nint b(void)\n{\n}\n"
    assert list(landmarks(text, 0, len(text))) == [(0, b"a"), (17, b"b")]
    assert list(landmarks(text, 16, len(text))) == [(17, b"b")]


@given(st.text(st.sampled_from("def class(){};:\n\t #$éa_1*"), max_size=80))
def test_any_text_can_be_looked_through(text: str) -> None:
    data = text.encode()
    for start, name in landmarks(data, 0, len(data)):
        assert start == 0 or data[start - 1 : start] == b"\n"
        assert name
        assert b"\n" not in name


@given(st.lists(st.sampled_from([text for text, _ in LINES] + ["", "x", "\tint y(void)"])))
def test_lines_together_name_what_each_does_alone(lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    alone = []
    at = 0
    for line in data.split(b"\n")[:-1]:
        own = line + b"\n"
        alone += [(at + start, name) for start, name in landmarks(own, 0, len(own))]
        at += len(own)
    assert list(landmarks(data, 0, len(data))) == alone
    assert list(landmarks(b"\n" + data, 1, len(data) + 1)) == [(s + 1, n) for s, n in alone]
    assert list(landmarks(data[:-1], 0, len(data[:-1]))) == alone
