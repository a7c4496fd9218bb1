"""Sniffing: the standard's table, row by row, and what counts as text and as an image."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.workspace.text import content_type, image_type, is_text

PNG = b"\x89PNG\r\n\x1a\n"
PLAIN = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
BINARY = "application/octet-stream"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # text
        (b"", PLAIN),
        (b"import os\n", PLAIN),
        (b"caf\xe9 in Latin-1", PLAIN),
        (b"\x1b[31mred\x1b[0m", PLAIN),
        (b"\xef\xbb\xbfhello", PLAIN),
        (b"\xef\xbb\xbf\x00", PLAIN),
        (b"\xfe\xff\x00a", "text/plain; charset=utf-16be"),
        (b"\xff\xfea\x00", "text/plain; charset=utf-16le"),
        (b"\xff\xfe", PLAIN),  # too short for the signature, and no binary byte
        # markup, which may be preceded by space and must be followed by space or >
        (b"<html>", HTML),
        (b" \n\t<HtMl lang=en>", HTML),
        (b"<!doctype html>", HTML),
        (b"<!-- x", HTML),
        (b"<!--x", PLAIN),
        (b"<p>\x00", HTML),
        (b"<pre>", PLAIN),
        (b"<html", PLAIN),
        (b" <?xml version='1.0'?>", "text/xml; charset=utf-8"),
        # documents, images, sound, film
        (b"%PDF-1.7", "application/pdf"),
        (b"%!PS-Adobe-3", "application/postscript"),
        (b"\x00\x00\x01\x00", "image/x-icon"),
        (b"\x00\x00\x02\x00", "image/x-icon"),
        (b"BM, said the text", "image/bmp"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"FORM\x00\x00\x00\x00AIFF", "audio/aiff"),
        (b"ID3\x04", "audio/mpeg"),
        (b"OggS\x00", "application/ogg"),
        (b"MThd\x00\x00\x00\x06", "audio/midi"),
        (b"RIFF\x00\x00\x00\x00AVI ", "video/avi"),
        (b"RIFF\x00\x00\x00\x00WAVE", "audio/wave"),
        (b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00isommp42", "video/mp4"),
        (b"\x00\x00\x00\x14ftypisom\x00\x00\x00\x00mp41", "video/mp4"),
        (b"\x00\x00\x00\x10ftypisommp41", BINARY),  # the minor version is no brand
        (b"\x1aE\xdf\xa3", "video/webm"),
        # fonts, archives, programs
        (b"a" * 34 + b"LP", "application/vnd.ms-fontobject"),
        (b"\x00\x01\x00\x00", "font/ttf"),
        (b"OTTO", "font/otf"),
        (b"ttcf", "font/collection"),
        (b"wOFF", "font/woff"),
        (b"wOF2", "font/woff2"),
        (b"\x1f\x8b\x08", "application/x-gzip"),
        (b"PK\x03\x04", "application/zip"),
        (b"Rar!\x1a\x07\x00", "application/x-rar-compressed"),
        (b"Rar!\x1a\x07\x01\x00", "application/x-rar-compressed"),
        (b"\x00asm\x01", "application/wasm"),
        (b"\x7fELF\x02\x01\x01\x00", BINARY),
        (b"text with a NUL\x00", BINARY),
        (b"\x00\x00\xfe\xff", BINARY),
    ],
)
def test_content_type_is_that_of_the_standard(head: bytes, expected: str) -> None:
    assert content_type(head) == expected


def test_only_the_first_512_bytes_count() -> None:
    assert is_text(b"a" * 512 + b"\x00")
    assert not is_text(b"a" * 511 + b"\x00")


@pytest.mark.parametrize(
    "head", [b"", b"\x00\x00\xfe\xff\x00\x00\x00a", b"\xff\xfe\x00\x00a\0\0\0"]
)
def test_empty_files_and_utf_32_with_a_bom_are_text(head: bytes) -> None:
    assert is_text(head)


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (PNG, "photo.dat", "image/png"),
        (b"\xff\xd8\xff", "a", "image/jpeg"),
        (b"GIF89a", "a.txt", "image/gif"),
        (b"RIFF....WEBPVP8", "a", "image/webp"),
        (b"<svg/>", "a.SVG", "image/svg+xml"),
        (b"<svg/>", "a.xml", None),
        (b"BM", "a.bmp", None),
        (b"not an image", "a.png", None),
    ],
)
def test_images_are_known_by_magic_bytes_and_svg_by_name(
    head: bytes, name: str, expected: str | None
) -> None:
    assert image_type(head, name) == expected


@given(st.binary(max_size=64) | st.sampled_from([PNG, b"<a ", b"BM", b"ID3"]))
def test_the_short_way_to_text_agrees_with_the_table(head: bytes) -> None:
    by_table = content_type(head).startswith("text/") or head.startswith(b"\x00\x00\xfe\xff")
    assert is_text(head) == by_table
