"""Copies of a corpus below `.bench/`: what is edited is never the tree a person pointed us to."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from bench import ripgrep
from bench.corpus import SCRATCH, Corpus

_ONE_IN = 20
"""One source in so many differs between two variants."""
_PREFERRED = ("kernel/", "fs/")


def whole_copy(corpus: Corpus) -> Corpus:
    """Every file that is searched; kept for the next run."""
    folder = _folder(corpus, "copy")
    ready = folder.with_suffix(".ready")
    if not ready.exists():
        names = ripgrep.searched_files(corpus.root)
        print(f"  copying {len(names):,} files to {folder.parent}/")
        _copy(corpus, names, folder)
        ready.touch()
    return Corpus(folder.resolve(), f"a copy of {corpus.name}")


def small_copy(corpus: Corpus, count: int) -> Corpus:
    """The first so many files: of the Linux tree's kernel and file systems, else of all."""
    names = sorted(ripgrep.searched_files(corpus.root))
    chosen = [name for name in names if name.startswith(_PREFERRED)] or names
    folder = _folder(corpus, "small")
    _copy(corpus, set(chosen[:count]), folder)
    return Corpus(folder.resolve(), f"{len(chosen[:count]):,} files of {corpus.name}")


def variants(corpus: Corpus, count: int) -> Corpus:
    """So many copies in one directory, each with a line more in some sources; kept as well."""
    folder = _folder(corpus, "variants")
    ready = folder.with_suffix(".ready")
    if not ready.exists():
        names = ripgrep.searched_files(corpus.root)
        print(f"  copying {count} × {len(names):,} files to {folder.parent}/")
        shutil.rmtree(folder, ignore_errors=True)
        for number in range(count):
            copy = folder / f"v{number}"
            _copy(corpus, names, copy)
            _vary(copy, sorted(names), number)
        ready.touch()
    return Corpus(folder.resolve(), f"{count} variants of {corpus.name}")


def _vary(copy: Path, names: list[str], number: int) -> None:
    for name in names[number::_ONE_IN]:
        path = copy / name
        if path.suffix in (".c", ".h") and not path.is_symlink():
            with path.open("ab") as file:
                file.write(f"/* variant {number} of {name} */\n".encode())


def _folder(corpus: Corpus, kind: str) -> Path:
    digest = hashlib.blake2b(os.fsencode(corpus.root), digest_size=6).hexdigest()
    return SCRATCH / kind / digest


def _copy(corpus: Corpus, names: set[str], folder: Path) -> None:
    """Copy by `cp`, which keeps times and shares blocks where the file system can."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        "xargs",
        "-0",
        "cp",
        "--archive",
        "--reflink=auto",
        "--parents",
        "--target-directory",
    ]
    listed = b"\0".join(os.fsencode(f"./{name}") for name in sorted(names))
    subprocess.run([*command, str(folder.resolve())], cwd=corpus.root, input=listed, check=True)
