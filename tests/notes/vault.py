"""A made-up vault: over 120 notes with every form of link, odd names and odd bytes."""

from __future__ import annotations

import unicodedata
from pathlib import Path

FORMS = """---
related: "[[Note 1]]"
tags: [a, b]
---
# Every form of link

[[Note 1]] [[Note 2|an alias]] [[Note 3#A heading]] [[Note 4#One#Two]] [[Note 5#^block]]
![[Note 6]] ![[images/picture.png]] ![[images/picture.png|100x50]]
| a | b |
|---|---|
| [[Note 7\\|in a table]] | x |

[text](Folder/Note%2010.md) [text](<Folder/Note 11.md>) [text](Folder/Note%2012.md#h "title")
![alt](images/picture.png) [reference][one] [[./Note 13]] [[../Note 14]] [[/Note 15]] [[Not there]]
{++[[Note 16]]++} {--[[Note 17]]--} `[[Note 18]]` %%[[Note 19]]%%

```
[[Note 20]] {++literal++}
```

[one]: Folder/Note%2021.md "title"
A line. ^block
"""

ODD: dict[str, bytes] = {
    "Every form.md": FORMS.encode(),
    "Windows.md": FORMS.replace("\n", "\r\n").encode(),
    "Old Mac.md": b"one\rtwo\r\rthree\r",
    "Mixed.md": b"a\r\nb\nc\r\r\nd\n\re\r\n",
    "With a mark.md": b"\xef\xbb\xbf# Marked\r\n",
    "Two marks.md": b"\xef\xbb\xbf\xef\xbb\xbfx\n",
    "Empty.md": b"",
    "Only ends.md": b"\n\n\n",
    "No last end.md": b"one\ntwo",
    "Deep/er/and/deeper/Note.md": b"deep\n",
    "Bücher/Größe & Gewicht.md": "Umlaute äöü\n".encode(),
    unicodedata.normalize("NFD", "Zerlegt/Café.md"): b"decomposed\n",
    "日本語/ノート 📝.md": "日本語 📝 \u2028 separator\n".encode(),
    "Critic.md": (
        b"plain {--old--}{++new++} and {~~a~>b~~} {>>a comment<<} {==high==}\n"
        b'{++{"author":"Ann","time":1708879304}@@by Ann++}\n'
        b"```\n{++in code++}\n```\n"
    ),
    "Latin one.md": b"caf\xe9\n",
    "Zero.md": b"a\0b\n",
    "images/picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "images/Ünïcode.svg": b"<svg/>",
    "data/table.csv": b"a,b\r\n1,2\r\n",
    "board.canvas": b'{"nodes":[]}',
    "LICENSE": b"no ending\n",
}

HIDDEN = (".obsidian/app.json", ".git/config", ".trash/Old.md", "Folder/.secret.md")


def plant_vault(root: Path) -> dict[str, bytes]:
    """Write the vault; gives what an export of it must hold."""
    files = dict(ODD)
    for number in range(1, 121):
        folder = "Folder/" if number % 3 else ""
        end = "\r\n" if number % 5 == 0 else "\n"
        lines = (f"# Note {number}", "", f"See [[Note {number + 1}]] and [[Every form]].", "")
        files[f"{folder}Note {number}.md"] = end.join(lines).encode()
    plant(root, files)
    plant(root, dict.fromkeys(HIDDEN, b"hidden\n"))
    return files


def plant(root: Path, files: dict[str, bytes]) -> None:
    """Write files below a directory."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def contents(root: Path) -> dict[str, bytes]:
    """All files of a directory but hidden ones."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts)
    }
