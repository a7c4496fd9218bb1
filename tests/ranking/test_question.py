"""What a query asks."""

from __future__ import annotations

import re

import pytest

from flashgrep import limits
from flashgrep.ranking.question import INITIALS_WEIGHT, RankedQuestion, any_form, forms, prefixes

TEXTS = [
    # text, words
    ("loading an ELF executable", ["loading", "elf", "executable"]),
    ("where is the kmem_cache_alloc", ["kmem", "cache", "alloc"]),
    ("parseHTTPHeader parse", ["parse", "http", "header"]),
    ("what is it", ["what", "is", "it"]),
    ("-> ; !!", []),
]
FORMS = [
    # a word, and others that it must be found as
    ("loading", "load loads loaded loader"),
    ("allocator", "alloc allocate allocation allocators"),
    ("mapping", "map maps"),
    ("entries", "entry"),
    ("suspend", "suspended suspends suspending"),
    ("state", "states stating"),
]


@pytest.mark.parametrize(("text", "words"), TEXTS)
def test_a_text_asks_for_these_words(text: str, words: list[str]) -> None:
    assert list(RankedQuestion(text).words) == words


def test_words_of_the_request_count_half_beside_others() -> None:
    asked = RankedQuestion("fix missing upload")
    assert asked.telling_words == ("upload",)
    weights = {
        (clause.field, clause.words[0]): clause.weight
        for clause in asked.clauses
        if clause.is_inflected
    }
    for field in ("body", "name", "path", "defs"):
        assert weights[field, "fix"] == weights[field, "missing"] == weights[field, "upload"] / 2


def test_a_question_of_request_words_alone_is_asked_in_full() -> None:
    asked = RankedQuestion("add a new issue")
    assert asked.telling_words == asked.words == ("add", "new", "issue")
    assert {clause.weight for clause in asked.clauses if clause.field == "body"} == {
        1.0,
        INITIALS_WEIGHT["body"],
    }


@pytest.mark.parametrize(("word", "others"), FORMS)
def test_a_word_is_looked_for_in_its_other_forms(word: str, others: str) -> None:
    assert forms(word)[0] == word
    assert set(others.split()) <= set(forms(word))
    pattern = re.compile(any_form(word))
    assert all(pattern.search(f"x_{other}(") for other in (word, *others.split()))


@pytest.mark.parametrize("word", ["elf", "x86", "a", "größe", "crc32"])
def test_short_words_and_names_have_no_other_forms(word: str) -> None:
    assert forms(word) == (word,)


def test_a_short_word_is_not_found_inside_another() -> None:
    assert not re.search(any_form("mq"), "smq2")
    assert re.search(any_form("mq"), "blk_mq_run")


def test_initials_of_neighbouring_words_are_names_too() -> None:
    assert RankedQuestion("read copy update").initials == ("rc", "cu", "rcu")
    assert "oom" in RankedQuestion("out of memory").initials


def test_beginnings_of_words_are_names_too() -> None:
    assert prefixes("sched") == ("sch", "sche")
    assert prefixes("no") == ()


def test_a_long_text_is_bounded() -> None:
    question = RankedQuestion(" ".join(f"word_{n}x" for n in range(1000)))
    assert len(question.words) == limits.QUERY_WORDS
    assert len(question.compounds) == limits.QUERY_WORDS
