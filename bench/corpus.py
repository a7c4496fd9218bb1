"""The tree that is searched: Debian's Linux 6.1 source, fetched once and kept below `.bench/`."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SCRATCH = Path(".bench")
VARIABLE = "FLASHGREP_CORPUS"
PACKAGE = "linux-source-6.1"

_TREE = SCRATCH / PACKAGE
_READY = SCRATCH / f"{PACKAGE}.ready"
# With these two lines the whole tree is ignored, by git and by everyone who follows it.
_CUT_RULES = ["/*", "!/debian/"]


@dataclass(frozen=True)
class Corpus:
    """A tree to search, and how a report calls it."""

    root: Path
    name: str


def prepare(given: str | None) -> Corpus:
    """The tree named by the caller or the environment, else the fetched one, else this project."""
    named = given or os.environ.get(VARIABLE)
    if named:
        root = Path(named).resolve(strict=True)
        return Corpus(root, _name(root))
    try:
        _fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{PACKAGE} cannot be had ({error}): measuring on this project's own tree")
        return Corpus(Path.cwd(), "this project's own tree")
    return Corpus(_TREE.resolve(), _name(_TREE.resolve()))


def _name(root: Path) -> str:
    return "the Linux 6.1 source tree" if root.name == PACKAGE else f"a tree named {root.name}"


def _fetch() -> None:
    """Download, unpack, cut the rules, `git init`; nothing if that was done before."""
    if _READY.exists():
        return
    package = SCRATCH / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.rmtree(_TREE, ignore_errors=True)
    package.mkdir(parents=True)
    print(f"fetching Debian's {PACKAGE} into {SCRATCH}/ (140 MB, 1.3 GB unpacked)")
    _run("apt-get", "download", PACKAGE, cwd=package)
    (archive,) = package.glob("*.deb")
    _run("dpkg", "-x", archive.name, "unpacked", cwd=package)
    (source,) = package.glob(f"unpacked/usr/src/{PACKAGE}.tar.*")
    _run("tar", "-xf", str(source.resolve()), cwd=SCRATCH)
    cut_rules(_TREE / ".gitignore")
    _run("git", "init", "--quiet", cwd=_TREE)
    shutil.rmtree(package)
    _READY.touch()


def cut_rules(rules: Path) -> None:
    """Take Debian's last two lines from a rule file, if they are there."""
    lines = rules.read_text(encoding="utf-8").splitlines()
    if lines[-2:] == _CUT_RULES:
        rules.write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8")


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
