"""What a path says about a file, and what that weighs."""

from __future__ import annotations

import pytest

from flashgrep.ranking.path_kinds import FACTORS, is_of_kind, path_kinds, subject_of
from flashgrep.ranking.question import RankedQuestion

KINDS = [
    # a path, and what the file is; nothing for an implementation
    ("src/server.py", ""),
    ("src/contest.c", ""),
    ("src/latest.py", ""),
    ("src/attestation/verify.c", ""),
    ("src/history.c", ""),
    ("src/changes/apply.go", ""),
    ("src/news.py", ""),
    ("builder/distribution.py", ""),
    ("tests/test_server.py", "tests"),
    ("src/server_test.go", "tests"),
    ("src/ServerTest.java", "tests"),
    ("src/server.spec.ts", "tests"),
    ("packages/core/__tests__/a.ts", "tests"),
    ("integration-tests/run.rs", "tests"),
    ("examples/hello.go", "samples"),
    ("include/server.h", "declaring"),
    ("types/index.d.ts", "declaring"),
    ("Documentation/server.rst", "prose"),
    ("docs/conf.py", "beside"),
    ("README", "prose"),
    ("README.md", "prose"),
    ("CHANGELOG.md", "prose log"),
    ("CHANGES", "prose log"),
    ("doc/releases.rst", "prose log"),
    ("newsfragments/12.bugfix.rst", "prose log"),
    ("LICENSE", "prose log"),
    ("package-lock.json", "data"),
    ("Cargo.lock", "data"),
    ("requirements-dev.txt", "data"),
    ("dist/app.js", "built"),
    ("static/app.min.js", "built"),
    ("api/service.pb.go", "built"),
    ("vendor/lib/x.go", "vendored"),
    ("third_party/zlib/inflate.c", "vendored"),
    ("web/style.css", "markup"),
    ("Makefile", "bare"),
]


@pytest.mark.parametrize(("path", "kinds"), KINDS)
def test_a_path_says_what_a_file_is(path: str, kinds: str) -> None:
    assert path_kinds(path) == set(kinds.split())


def test_an_implementation_weighs_more_than_anything_else() -> None:
    weigh = RankedQuestion("retry upload").path_weight
    assert weigh("src/server.py") == 1.0
    assert all(factor < 1.0 for factor in FACTORS.values())
    assert weigh("CHANGELOG.md") < weigh("README.md") < weigh("src/server.py")


ASKED = [
    ("tests of the upload", "tests/test_upload.py"),
    ("documentation about uploads", "docs/upload.md"),
    ("changelog entry for uploads", "CHANGELOG.md"),
    ("release notes about uploads", "docs/releases.rst"),
    ("upload examples", "examples/upload.py"),
]


@pytest.mark.parametrize(("text", "path"), ASKED)
def test_a_question_that_asks_for_a_kind_does_not_demote_it(text: str, path: str) -> None:
    assert RankedQuestion("upload").path_weight(path) < 1.0
    assert RankedQuestion(text).path_weight(path) == 1.0


def test_code_and_docs_can_be_told_apart_and_data_is_neither() -> None:
    paths = ["a.py", "Makefile", "docs/conf.py", "README", "docs/a.html", "web/a.html", "a.json"]
    assert [path for path in paths if is_of_kind(path, "docs")] == ["README", "docs/a.html"]
    assert [path for path in paths if is_of_kind(path, "code")] == [
        "a.py",
        "Makefile",
        "docs/conf.py",
        "web/a.html",
    ]
    assert all(is_of_kind(path, "any") for path in paths)


SUBJECTS = [
    # names of files that are about the same
    ("upload", "upload.c upload.h Upload.java test_upload.py upload_test.go upload.spec.ts"),
    ("upload", "UploadTest.java UploadTests.cs upload-test.js upload.test.tsx _upload.py"),
    ("upload", "UploadTestCase.php upload_spec.rb UploadSpec.scala tests_upload.py upload"),
    ("latest", "latest.py"),
    ("contest", "contest.c"),
    ("testing", "testing.go"),
    (".gitignore", ".gitignore"),
]


@pytest.mark.parametrize(("subject", "names"), SUBJECTS)
def test_a_test_is_about_what_it_is_named_after(subject: str, names: str) -> None:
    assert {subject_of(name) for name in names.split()} == {subject}
