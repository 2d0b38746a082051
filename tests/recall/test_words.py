"""Words as people search code."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.journal.port import Bookmark, Position
from trimpoint.recall.index import IndexedEntry, IndexedTurn, RecallIndex, Where
from trimpoint.recall.scripts import searchable
from trimpoint.recall.words import MAX_TERMS, Term, snippet, terms_in, with_parts

END = Bookmark(Position(100, 1), b"digest")


@contextmanager
def index_of(folder: Path, *texts: str) -> Generator[RecallIndex]:
    index = RecallIndex(folder)
    entries = [IndexedEntry(place, "user", text) for place, text in enumerate(texts)]
    index.add("thread", "/w", [IndexedTurn("turn", True, len(texts), entries)], END)
    yield index
    index.close()


def places(index: RecallIndex, query: str) -> list[int]:
    return [found.place for found in index.search(terms_in(query), Where(), 10)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("def parseHttpHeader(raw)", "header"),
        ("def parseHttpHeader(raw)", "parsehttpheader"),
        ("def parseHttpHeader(raw)", "parseHttpHeader"),
        ("def parseHttpHeader(raw)", "httpHeader"),
        ("class HTTPServer2:", "server"),
        ("MAX_RETRY_COUNT = 3", "retry count"),
        ("MAX_RETRY_COUNT = 3", "MAX_RETRY_COUNT"),
        ("see src/app/main.py:12", "main.py"),
        ("see src/app/main.py:12", "src/app"),
        ("the café at noon", "CAFE"),
        ("Straßenbahn", "straßenbahn"),
        ("the configuration is wrong", "conf*"),
        ("call getUserName now", "getUs*"),
        ("an error: out of memory", '"out of memory"'),
        ("Ключ потерян", "ключ"),
        ("ЁЛКА", "ёлка"),
        ("die Straße nach", "strasse"),
        ("die STRASSE nach", "straße"),
        ("a ﬁle of it", "file"),
        ("a file of it", "ﬁle"),
        ("cafe\u0301 at noon", "café"),
        ("İstanbul", "istanbul"),
        ("\uff26\uff35\uff2c\uff2c width", "full"),
        ("日本語テキストを読む", "日本語"),
        ("日本語テキストを読む", "テキスト"),
        ("日本語テキストを読む", "語"),
        ("日本語テキストを読む", "日本* 読む"),
        ("ﾃｷｽﾄﾌｧｲﾙ", "テキスト"),
        ("がぎぐ", "か\u3099"),
        ("错误, 无法连接数据库server", "数据库"),
        ("错误, 无法连接数据库server", "server"),
        ("검색을 고쳤다", "검색"),
        ("ค้นหาข้อความในประวัติ", "ข้อความ"),
        ("ຄົ້ນຫາຂໍ້ຄວາມ", "ຂໍ້ຄວາມ"),
        ("ស្វែងរកអត្ថបទ", "អត្ថបទ"),
        ("रास्ता हिन्दी में", "हिन्दी"),
        ("שָׁלוֹם עולם", "שלום"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_a_word_is_found_as_people_write_it(tmp_path: Path, text: str, query: str) -> None:
    with index_of(tmp_path, "something else", text) as index:
        assert places(index, query) == [1]
    assert snippet(text, terms_in(query)).marks


@pytest.mark.parametrize(
    ("text", "query"),
    [("日語本", "日本語"), ("か", "が"), ("हानद", "हिन्दी"), ("กาน", "การ"), ("テキスト", "テスト")],
)
def test_another_word_of_the_same_script_is_not_found(
    tmp_path: Path, text: str, query: str
) -> None:
    with index_of(tmp_path, text) as index:
        assert places(index, query) == []


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("これは日本語テキスト。日本語だ", "日本語", ["日本語", "日本語"]),
        ("読む: ﾃｷｽﾄﾌｧｲﾙ", "テキスト", ["ﾃｷｽﾄ"]),
        ("in der Straße, STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("数据库server端", "server 数据", ["数据"]),
    ],
)
def test_a_snippet_marks_the_words_of_every_script(
    text: str, query: str, marked: list[str]
) -> None:
    found = snippet(text, terms_in(query))
    assert [found.text[start:end] for start, end in found.marks] == marked


def test_words_in_quotes_follow_each_other(tmp_path: Path) -> None:
    with index_of(tmp_path, "out there, of his memory", "out of memory") as index:
        assert places(index, '"out of memory"') == [1]
        assert sorted(places(index, "out of memory")) == [0, 1]


def test_an_entry_with_all_words_goes_before_those_with_all_but_one(tmp_path: Path) -> None:
    with index_of(tmp_path, "alpha beta gamma", "alpha beta", "gamma") as index:
        assert places(index, "alpha beta gamma") == [0]
        assert sorted(places(index, "alpha beta missing")) == [0, 1]
        assert places(index, "missing") == []


def test_among_equals_the_newest_is_first(tmp_path: Path) -> None:
    with index_of(tmp_path, "same words", "same words", "same words") as index:
        assert places(index, "same words") == [2, 1, 0]


@pytest.mark.parametrize(
    "query",
    ['"', "* * *", 'a"b', "NEAR(", "body:", "AND OR NOT", "-", "{x}", "a* b*", "^x", "'", ""],
)
def test_a_query_is_never_taken_for_a_language(tmp_path: Path, query: str) -> None:
    with index_of(tmp_path, "nothing of it") as index:
        assert places(index, query) == []


def test_only_the_first_terms_of_a_long_query_count() -> None:
    assert len(terms_in(" ".join(f"w{number}" for number in range(100)))) == MAX_TERMS
    assert terms_in('one "two three" fo*') == [
        Term("one"), Term("two three"), Term("fo", is_prefix=True)
    ]  # fmt: skip


def test_a_text_without_camel_case_is_indexed_as_it_is() -> None:
    assert with_parts("plain words, Title Case and ALL") == "plain words, Title Case and ALL"
    assert with_parts("a fooBar b") == "a fooBar b\nfoo Bar"


def test_a_snippet_is_the_piece_with_the_most_words_and_marks_them() -> None:
    text = "needle " + "x " * 400 + "\nthe needle in\tthe hay " + "y " * 400
    found = snippet(text, terms_in("needle hay"))
    assert "needle in the hay" in found.text
    assert [found.text[start:end] for start, end in found.marks] == ["needle", "hay"]


def test_a_snippet_begins_with_a_whole_word() -> None:
    found = snippet("abcdefghij " * 20 + "needle " + "klmnopqrst " * 20, terms_in("needle"))
    assert found.text.startswith("abcdefghij ")
    assert [found.text[start:end] for start, end in found.marks] == ["needle"]


def test_a_snippet_of_a_text_without_the_words_is_its_beginning() -> None:
    assert snippet("short text", terms_in("other")) == ("short text", ())


@given(st.text("abAB19_. é\ud800中"))
def test_the_parts_of_camel_case_stand_behind_the_text(text: str) -> None:
    runs = set(re.findall("[A-Za-z0-9]+", searchable(text)))
    humped = sorted(run for run in runs if re.search("[a-z0-9][A-Z]|[A-Z]{2}[a-z]", run))
    behind = with_parts(text).removeprefix(searchable(text)).split("\n")[1:]
    assert [line.replace(" ", "") for line in behind] == humped
    assert all(re.search("[a-z0-9][A-Z]", part) is None for part in " ".join(behind).split())
