"""A program forked from a warm process is to a test what one of its own start is."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.processes import wait_until
from tests.transports.clients import FLASHGREP, environment
from tests.warm import WORKERS, Warm, source_of

SELF = """
import json, os, signal, sys
print(json.dumps({
    "parent": os.getppid(), "place": os.getcwd(), "words": sys.argv, "name": __name__,
    "environment": dict(os.environ), "open": sorted(os.listdir("/proc/self/fd"), key=int)[:-1],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "imported": any(name.split(".")[0] in ("flashgrep", "tests", "pytest") for name in sys.modules),
    "typed": sys.stdin.read(),
}))
"""
STARTS = pytest.mark.parametrize("start", [subprocess.Popen, Warm])


@STARTS
def test_it_has_its_own_words_place_environment_and_descriptors(
    start: type[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    command = [sys.executable, "-P", "-c", SELF, "one", "two"]
    own = {"HOME": str(tmp_path), "LC_CTYPE": "C.UTF-8"}
    pipe = subprocess.PIPE
    with start(command, stdin=pipe, stdout=pipe, cwd=tmp_path, env=own) as process:
        told = json.loads(process.communicate(b"typed")[0])
    assert process.returncode == 0
    assert told == {
        "parent": os.getpid(),
        "place": str(tmp_path),
        "words": ["-c", "one", "two"],
        "name": "__main__",
        "environment": own,
        "open": ["0", "1", "2"],
        "interrupt": True,
        "imported": False,
        "typed": "typed",
    }


@STARTS
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("1 / 0", 1),
        ("import os; os._exit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_its_status_is_told(start: type[subprocess.Popen[bytes]], code: str, status: int) -> None:
    with start([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        assert process.wait(120) == status


@STARTS
def test_a_file_and_a_module_are_run(start: type[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("import sys; print(__name__, sys.argv)")
    with start([sys.executable, str(file), "word"], stdout=subprocess.PIPE) as process:
        told = process.communicate()[0].decode()
    assert told == f"__main__ {[str(file), 'word']}\n"
    command = [*FLASHGREP, "mcp", "--workdir", str(tmp_path / "none")]
    with start(command, stderr=subprocess.PIPE, env=environment(tmp_path)) as process:
        assert b"none" in process.communicate()[1]
    assert process.returncode == 2


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(AssertionError, match="needs a Popen"):
        Warm([sys.executable, "-c", ""], preexec_fn=os.getpid)


@STARTS
def test_it_has_the_mask_group_and_descriptors_that_it_was_given(
    start: type[subprocess.Popen[bytes]],
) -> None:
    code = "import os; print(oct(os.umask(0)), os.getpgrp() == os.getpid(), os.fstat({}).st_ino)"
    source, sink = os.pipe()
    try:
        with start(
            [sys.executable, "-c", code.format(source)],
            stdout=subprocess.PIPE,
            umask=0o027,
            process_group=0,
            pass_fds=(source,),
        ) as process:
            told = process.communicate()[0].decode()
        assert told == f"0o27 True {os.fstat(source).st_ino}\n"
    finally:
        os.close(source)
        os.close(sink)


@pytest.mark.parametrize("start", [subprocess.Popen, Warm])
def test_it_has_the_limits_of_who_starts_it(start: type[subprocess.Popen[bytes]]) -> None:
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (123_456_789, before[1]))
    try:
        process = start([sys.executable, "-c", code], stdout=subprocess.PIPE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert process.communicate()[0] == b"123456789\n"


@STARTS
@pytest.mark.parametrize("module", sorted(WORKERS))
def test_a_process_that_works_for_the_server_waits_and_ends_when_its_pipe_does(
    start: type[subprocess.Popen[bytes]], module: str
) -> None:
    command = [sys.executable, "-P", "-X", "utf8", "-m", module]
    pipe = subprocess.PIPE
    with start(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/") as process:
        assert process.communicate() == (b"", b"")
    assert process.returncode == 0


@pytest.mark.parametrize("value", [None, "1"])
def test_what_is_read_at_import_is_read_of_its_own_environment(value: str | None) -> None:
    """Or a test of the way to open without `openat2` would test the other one."""
    given = {} if value is None else {"FLASHGREP_NO_OPENAT2": value}
    source = source_of([sys.executable, "-P", "-X", "utf8", "-m", WORKERS[0]], given)
    # Empty while the process is being executed: the kernel shows it once the new program is loaded.
    environ = Path(f"/proc/{source.pid}/environ")
    told = wait_until(environ.read_bytes, "the warm process to be executed").split(b"\0")
    assert (b"FLASHGREP_NO_OPENAT2=1" in told) == (value is not None)
