"""What counts as a word: whole and in parts, in any script, the same for what is stored and for what is asked."""

import pytest

from recollect.index.words import MAX_WORD_BYTES, camel_parts, is_unspaced, prepare, words
from recollect.search import parse


def indexed(text: str) -> list[str]:
    """The words under which a text can be found."""
    return words(prepare(text))


def finds(query: str, text: str) -> bool:
    """Whether all words of a question, or one of its runs of words, occur in a text."""
    asked, known = parse(query), indexed(text)
    runs = [*asked.optional_phrases, *asked.required_phrases]
    whole = any(known[place : place + len(run)] == list(run) for run in runs for place in range(len(known)))
    return whole or (bool(asked.terms) and set(asked.terms) <= set(known))


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


def test_the_parts_of_a_name_are_noted_once_however_often_it_occurs() -> None:
    assert camel_parts("getUser getUser getUser") == "get User"


def test_a_run_of_encoded_data_is_no_name() -> None:
    assert camel_parts("aB" * 100) == ""
    assert indexed("x" * (MAX_WORD_BYTES + 1)) == []


def test_plain_text_has_no_parts_to_add() -> None:
    assert prepare("Nothing to take apart HERE, 42 times.") == "Nothing to take apart HERE, 42 times."


# ---- words


@pytest.mark.parametrize(
    ("asked", "said"), [("migration", "migrations"), ("failing", "failed"), ("retries", "retry"), ("query", "queries")]
)
def test_forms_of_a_word_find_each_other(asked: str, said: str) -> None:
    assert finds(asked, said)


@pytest.mark.parametrize(
    ("asked", "said"),
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
def test_accents_do_not_matter_however_they_are_written(asked: str, said: str) -> None:
    assert finds(asked, said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("привет", "Привет, мир"),
        ("κόσμε", "γεια σου κόσμε"),
        ("שלום", "שלום עולם"),
        ("مرحبا", "مرحبا بالعالم"),
        ("हिन्दी", "यह हिन्दी है"),
        ("tiếng", "tiếng Việt"),
    ],
)
def test_a_word_of_any_script_is_found(asked: str, said: str) -> None:
    assert finds(asked, said)


# ---- scripts without spaces


@pytest.mark.parametrize(
    ("asked", "said"),
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
def test_a_word_inside_a_run_of_characters_is_found(asked: str, said: str) -> None:
    assert finds(asked, said)


def test_characters_in_another_order_are_another_word() -> None:
    assert not finds("箱烤", "请检查烤箱的温度")


def test_only_scripts_without_spaces_are_taken_apart() -> None:
    assert is_unspaced("漢字") and is_unspaced("かな") and is_unspaced("한글")
    assert not is_unspaced("Ελληνικά кириллица العربية")


# ---- questions


def test_words_that_say_nothing_are_left_out_of_a_question() -> None:
    assert parse("how did we fix the oven").terms == parse("fix oven").terms


def test_a_question_of_nothing_else_keeps_them() -> None:
    assert parse("what is this").terms == ("what", "is", "this")


@pytest.mark.parametrize(
    "query", ["???", "... !!!", "🥐", '""', '"', "-", "\\", "()[]{}^~*?:", "AND OR NOT", "text:*", "a" * 4_000]
)
def test_no_question_is_an_error(query: str) -> None:
    parse(query)


def test_a_question_of_punctuation_asks_nothing() -> None:
    assert parse("?! ... ()").is_empty()


def test_what_is_quoted_is_a_phrase() -> None:
    asked = parse('oven "route is open" today')
    assert asked.required_phrases == (tuple(words("route is open")),)
    assert asked.terms == tuple(words("oven today"))


def test_a_word_asked_twice_counts_once() -> None:
    assert parse("oven OVEN ovens").terms == tuple(words("oven"))
