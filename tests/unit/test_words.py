"""Words are split the same way in stored texts and in queries: whole and in parts, in any script."""

import pytest

from recollect.index.words import MAX_WORD_BYTES, camel_parts, is_unspaced, prepare, words
from recollect.search import parse


def indexed_words(text: str) -> list[str]:
    """The words that the index stores for a text."""
    return words(prepare(text))


def finds(query: str, text: str) -> bool:
    """Whether all words of a query, or one of its phrases, occur in a text."""
    parsed, stored = parse(query), indexed_words(text)
    phrases = [*parsed.optional_phrases, *parsed.required_phrases]
    has_phrase = any(stored[at : at + len(phrase)] == list(phrase) for phrase in phrases for at in range(len(stored)))
    return has_phrase or (bool(parsed.terms) and set(parsed.terms) <= set(stored))


# ---- identifiers


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("HTTPServer", ["http", "server"]),
        ("parseXMLDocument", ["parse", "xml", "document"]),
        ("auth_token", ["auth", "token"]),
        ("MAX_RETRY_COUNT", ["max", "retry", "count"]),
        ("src/auth.ts", ["src", "auth", "ts"]),
        ("/home/sam/.config/app.toml", ["home", "config", "toml"]),
        ("C:\\Users\\sam\\notes.md", ["users", "sam", "notes"]),
        ("ERR_AUTH_FAILED", ["err", "auth", "failed"]),
        ("std::vector", ["std", "vector"]),
        ("my-package@1.2.3", ["package", "my"]),
        ("snake_caseAndCamel", ["snake", "case", "camel"]),
        ("user@example.org", ["user", "example"]),
        ("utf8ToBase64", ["to", "base"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(name: str, parts: list[str]) -> None:
    text = f"then {name}, as before"
    assert finds(name, text)
    assert all(finds(part, text) for part in parts)


@pytest.mark.parametrize(
    "code", ["E0502", "TS2345", "ENOENT", "0x80070005", "CVE-2024-3094", "SQLSTATE[42P01]", "#1234", "404"]
)
def test_an_error_code_is_found(code: str) -> None:
    assert finds(code, f"failed with {code}: see below")


def test_upper_and_lower_case_are_the_same() -> None:
    assert finds("GETUSERNAME", "getUserName")
    assert finds("getusername", "getUserName")
    assert finds("err_auth_failed", "ERR_AUTH_FAILED")


def test_a_part_in_the_middle_of_a_word_is_not_a_word() -> None:
    assert not finds("ser", "getUserName")
    assert not finds("auth", "author")


def test_the_parts_of_a_name_are_indexed_once() -> None:
    assert camel_parts("getUser getUser getUser") == "get User"


def test_encoded_data_is_not_split_into_parts() -> None:
    assert camel_parts("aB" * 100) == ""
    assert indexed_words("x" * (MAX_WORD_BYTES + 1)) == []


def test_plain_text_has_no_parts_to_add() -> None:
    assert prepare("Nothing to take apart HERE, 42 times.") == "Nothing to take apart HERE, 42 times."


# ---- words


@pytest.mark.parametrize(
    ("query", "text"), [("migration", "migrations"), ("failing", "failed"), ("retries", "retry"), ("query", "queries")]
)
def test_inflections_of_a_word_match_each_other(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe", "café"),
        ("café", "cafe"),
        ("Zurich", "Zürich"),
        ("naive", "naïve"),
        ("resume\u0301", "resumé"),
        ("re\u0301sume\u0301", "résumé"),
        ("strasse", "Straße"),
        ("ångström", "ANGSTROM"),
    ],
)
def test_accents_do_not_matter_however_they_are_written(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("привет", "Привет, мир"),
        ("κόσμε", "γεια σου κόσμε"),
        ("שלום", "שלום עולם"),
        ("مرحبا", "مرحبا بالعالم"),
        ("हिन्दी", "यह हिन्दी है"),
        ("tiếng", "tiếng Việt"),
    ],
)
def test_a_word_of_any_script_is_found(query: str, text: str) -> None:
    assert finds(query, text)


# ---- scripts without spaces


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("烤箱", "请检查烤箱的温度"),
        ("温度", "请检查烤箱的温度"),
        ("検索", "日本語の全文検索エンジン"),
        ("エンジン", "日本語の全文検索エンジン"),
        ("검색", "전문검색 엔진"),
        ("𠮷野家", "ここは𠮷野家です"),
        ("ｶﾅ", "半角ｶﾅ文字"),
        ("数据库", "PostgreSQL数据库连接失败"),
        ("PostgreSQL", "PostgreSQL数据库连接失败"),
    ],
)
def test_a_word_inside_a_run_of_characters_is_found(query: str, text: str) -> None:
    assert finds(query, text)


def test_characters_in_another_order_are_another_word() -> None:
    assert not finds("箱烤", "请检查烤箱的温度")


def test_only_scripts_without_spaces_are_split() -> None:
    assert is_unspaced("漢字") and is_unspaced("かな") and is_unspaced("한글")
    assert not is_unspaced("Ελληνικά кириллица العربية")


# ---- questions


def test_stop_words_are_left_out_of_a_query() -> None:
    assert parse("how did we fix the oven").terms == parse("fix oven").terms


def test_a_query_of_stop_words_only_keeps_them() -> None:
    assert parse("what is this").terms == ("what", "is", "this")


@pytest.mark.parametrize(
    "query", ["???", "... !!!", "🥐", '""', '"', "-", "\\", "()[]{}^~*?:", "AND OR NOT", "text:*", "a" * 4_000]
)
def test_any_query_is_valid(query: str) -> None:
    parse(query)


def test_a_query_of_punctuation_is_empty() -> None:
    assert parse("?! ... ()").is_empty()


def test_quoted_words_are_a_phrase() -> None:
    parsed = parse('oven "route is open" today')
    assert parsed.required_phrases == (tuple(words("route is open")),)
    assert parsed.terms == tuple(words("oven today"))


def test_a_repeated_word_counts_once() -> None:
    assert parse("oven OVEN ovens").terms == tuple(words("oven"))
