"""Every small defect that could be put into a source file.

A mutation is one splice of the text, so that all but the place itself stays as it was written.
Left out is what no test can or should notice: annotations, docstrings, decorators, asserts,
`if TYPE_CHECKING`, `__all__`, stubs of protocols, what is logged for debugging or of a defect of
ours, the help texts of tools and flags, and numbers above a hundred, which off by one are the same
limit.
"""

from __future__ import annotations

import ast
import copy
import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

_FLIPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_LARGEST: Final = 100
_PROSE: Final = re.compile(r"[A-Za-z]{2,}[^\n]* [A-Za-z]{2,}")
_QUIET: Final = ("debug", "exception")
_DESCRIBING: Final = ("Parameter", "ToolSpec", "option", "argument", "add_argument", "TypeVar")
_DELETED: Final = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
_CHANGED_WORD: Final = "XX"


@dataclass(frozen=True)
class Mutation:
    """One defect: where it is, and what replaces the text there."""

    path: str
    """Of the file, relative to the repository."""
    line: int
    kind: str
    start: int
    """In bytes of the file, as `end`."""
    end: int
    after: str
    scope: str
    """The function or class it is in; empty at the top."""

    def before(self, original: str) -> str:
        """The text there."""
        return original.encode()[self.start : self.end].decode()

    def applied(self, original: str) -> str:
        """The text of the file with it."""
        data = original.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()

    def compiles(self, original: str) -> bool:
        """Whether it is a program still."""
        try:
            compile(self.applied(original), self.path, "exec")
        except (SyntaxError, ValueError):
            return False
        return True

    def diff(self, original: str) -> str:
        """As a unified diff without its head."""
        changed = self.applied(original).splitlines()
        lines = difflib.unified_diff(original.splitlines(), changed, lineterm="", n=1)
        return "\n".join(list(lines)[2:])


def mutations(path: str, text: str) -> list[Mutation]:
    """All of a file, in the order of its lines; a few of them do not compile."""
    visitor = _Visitor(path, text)
    visitor.visit(ast.parse(text))
    return sorted(visitor.found, key=lambda mutation: (mutation.line, mutation.kind))


def every_mutation(root: Path, package: str = "src/flashgrep") -> Iterator[Mutation]:
    """Those of a whole package, file by file."""
    for file in sorted((root / package).rglob("*.py")):
        yield from mutations(str(file.relative_to(root)), file.read_text(encoding="utf-8"))


class _Visitor(ast.NodeVisitor):
    """Walks a file and notes each place where something can be changed."""

    def __init__(self, path: str, text: str) -> None:
        self.found: list[Mutation] = []
        self._path = path
        lengths = (len(line.encode()) for line in text.splitlines(keepends=True))
        self._starts = [0, *accumulate(lengths)]
        self._scope: list[str] = []
        self._is_default = False

    # ── what is passed by ───────────────────────────────────────────────────────────────────────

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        return

    def visit_Assign(self, node: ast.Assign) -> None:
        targets = node.targets
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return
        # A name without a value would be noticed by every test that runs the line.
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
            self._delete(node)
        self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if all(_is_text(statement) or _is_stub(statement) for statement in node.body):
            return  # of a protocol: nothing here is ever run
        self._is_default = True
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._is_default = False
        self._inside(node.name, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Module(self, node: ast.Module) -> None:
        self._body(node.body)

    def _inside(self, name: str, body: list[ast.stmt]) -> None:
        self._scope.append(name)
        self._body(body)
        self._scope.pop()

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if not _is_text(statement):  # a docstring, of an attribute too
                self.visit(statement)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name in _QUIET:
            return
        if name not in _DESCRIBING:
            self.generic_visit(node)
            return
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            if not _is_prose(value):
                self.visit(value)

    # ── what is changed ─────────────────────────────────────────────────────────────────────────

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _DELETED) and not _is_text(node):
            self._delete(node)
        super().visit(node)

    def visit_If(self, node: ast.If) -> None:
        test = ast.unparse(node.test)
        if test in ("TYPE_CHECKING", "__name__ == '__main__'"):
            for statement in node.orelse:
                self.visit(statement)
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):

            def flip(changed: ast.AST, at: int = at, operator: ast.cmpop = operator) -> None:
                assert isinstance(changed, ast.Compare)
                changed.ops[at] = _FLIPPED[type(operator)]()

            self._change(node, "comparison flipped", flip)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        def swap(changed: ast.AST) -> None:
            assert isinstance(changed, ast.BoolOp)
            changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()

        self._change(node, "and and or swapped", swap)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not _is_none(node.value):
            self._splice(node.value, "return value dropped", "None")
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        kind = "default changed" if self._is_default else ""
        if isinstance(value, bool):
            self._splice(node, kind or "boolean flipped", repr(not value))
        elif isinstance(value, int) and abs(value) <= _LARGEST:
            self._splice(node, kind or "constant off by one", repr(value + 1))
        elif isinstance(value, str) and (_PROSE.search(value) or self._is_default):
            self._splice(node, kind or "text changed", repr(_reworded(value)))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        # What is inside has no position before Python 3.12: only the text is changed.
        texts = [part for part in node.values if isinstance(part, ast.Constant)]
        if not any(_PROSE.search(str(part.value)) for part in texts):
            return

        def reword(changed: ast.AST) -> None:
            assert isinstance(changed, ast.JoinedStr)
            parts = [part for part in changed.values if isinstance(part, ast.Constant)]
            longest = max(parts, key=lambda part: len(str(part.value)))
            longest.value = _reworded(str(longest.value))

        self._change(node, "text changed", reword)

    def _negate(self, test: ast.expr) -> None:
        self._splice(test, "branch negated", f"not ({ast.unparse(test)})")

    def _delete(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr) and _name_of_call(node.value) in _QUIET:
            return
        self._splice(node, "statement deleted", "pass")

    def _change(self, node: ast.expr, kind: str, change: Callable[[ast.AST], None]) -> None:
        changed = copy.deepcopy(node)
        change(changed)
        self._splice(node, kind, f"({ast.unparse(changed)})")

    def _splice(self, node: ast.expr | ast.stmt, kind: str, new: str) -> None:
        """Put other text in a node's place."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        scope = ".".join(self._scope)
        self.found.append(Mutation(self._path, node.lineno, kind, start, end, new, scope))


def _reworded(text: str) -> str:
    """The text with its longest word changed: who pins it by any part is likely to notice."""
    words = re.findall(r"[A-Za-z]+", text)
    if not words:
        return text + _CHANGED_WORD
    longest = max(words, key=len)
    return text.replace(longest, longest + _CHANGED_WORD, 1)


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_stub(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_prose(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _name_of_call(value: ast.expr) -> str:
    return _name(value.func) if isinstance(value, ast.Call) else ""
