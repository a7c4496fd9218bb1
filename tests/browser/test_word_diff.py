"""The comparison of words that the pages show, run as it is by Node."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.bundle import WEB, unavailable

Diff = Callable[[list[tuple[str, str]]], list[list[tuple[str, str]]]]
_RUN = """
import { wordDiff } from "./diff.mjs";
let text = "";
for await (const part of process.stdin) text += part;
const found = JSON.parse(text).map(([old, fresh]) => wordDiff(old, fresh));
process.stdout.write(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def diff(tmp_path_factory: pytest.TempPathFactory) -> Diff:
    esbuild = WEB / "node_modules" / ".bin" / "esbuild"
    if not shutil.which("node") or not esbuild.exists():
        unavailable("Node or esbuild is missing (apt-get install nodejs npm, npm ci --prefix web)")
    place: Path = tmp_path_factory.mktemp("diff")
    (place / "run.mjs").write_text(_RUN, encoding="utf-8")
    source, made = WEB / "src" / "shell" / "diff.ts", place / "diff.mjs"
    command = [str(esbuild), str(source), f"--outfile={made}", "--log-level=error"]
    subprocess.run(command, check=True)

    def run(pairs: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
        answer = subprocess.run(
            ["node", str(place / "run.mjs")],
            input=json.dumps(pairs).encode(),
            capture_output=True,
            check=True,
        )
        found = json.loads(answer.stdout)
        return [[(piece["kind"], piece["text"]) for piece in one] for one in found]

    return run


def shown(pieces: list[tuple[str, str]]) -> str:
    marks = {"same": "{}", "deleted": "[-{}]", "inserted": "[+{}]"}
    return "".join(marks[kind].format(text) for kind, text in pieces)


CASES = {
    ("The quick brown fox jumps", "The slow red fox leaps"): (
        "The [-quick brown][+slow red] fox [-jumps][+leaps]"
    ),
    ("same", "same"): "same",
    ("", "new"): "[+new]",
    ("old", ""): "[-old]",
    ("a, b", "a, c"): "a, [-b][+c]",
    ("nothing of this", "else altogether here"): "[-nothing of this][+else altogether here]",
    ("日本語のテキスト", "日本人のテキスト"): "日本[-語][+人]のテキスト",
    ("a 👨‍👩‍👧 family 🇩🇪", "a 👨‍👩‍👦 family 🇫🇷"): "a [-👨‍👩‍👧][+👨‍👩‍👦] family [-🇩🇪][+🇫🇷]",
    ("نص عربي قصير", "نص عربي طويل"): "نص عربي [-قصير][+طويل]",
    ("one two", "one  two"): "one[- ][+  ]two",
    ("cafe\u0301 au lait", "cafe au lait"): "[-cafe\u0301][+cafe] au lait",
}


@pytest.mark.daily
def test_words_that_differ_are_named(diff: Diff) -> None:
    found = diff(list(CASES))
    assert [shown(one) for one in found] == list(CASES.values())


@pytest.mark.daily
def test_the_pieces_make_up_both_texts(diff: Diff) -> None:
    chance = random.Random(14)
    parts = ["a", "b", "long", " ", "  ", "\n", ",", "é", "😀", "語", "e\u0301", "-"]
    pairs = [
        (
            "".join(chance.choices(parts, k=chance.randrange(30))),
            "".join(chance.choices(parts, k=chance.randrange(30))),
        )
        for _ in range(2_000)
    ]
    for (old, new), pieces in zip(pairs, diff(pairs), strict=True):
        assert "".join(text for kind, text in pieces if kind != "inserted") == old
        assert "".join(text for kind, text in pieces if kind != "deleted") == new


@pytest.mark.daily
def test_long_texts_are_compared_by_lines_and_stay_whole(diff: Diff) -> None:
    lines = [f"line {number} " + "word " * 20 for number in range(2_000)]
    changed = [line + "more" if at % 400 == 7 else line for at, line in enumerate(lines)]
    other = [f"other {number}" for number in range(60_000)]
    pairs = [("\n".join(lines), "\n".join(changed)), ("\n".join(lines), "\n".join(other))]
    near, far = diff(pairs)
    assert [kind for kind, _ in near].count("deleted") == 5
    assert len(far) <= 3
    assert "".join(text for kind, text in far if kind != "deleted") == pairs[1][1]
