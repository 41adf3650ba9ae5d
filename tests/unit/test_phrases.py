"""Phrase tables: every list and pattern loads, has no duplicates, and matches only the first of its two examples."""

from collections import Counter

import pytest

from recollect.observe.phrases import FOLDER, Entry, PhraseTable, contains_any, phrases_in

TABLES = {path.stem: PhraseTable(path.stem) for path in sorted(FOLDER.glob("*.toml"))}
ENTRIES = [pytest.param(table, name, id=f"{file}-{name}") for file, table in TABLES.items() for name in table.entries]


def matches(table: PhraseTable, name: str, text: str) -> bool:
    entry = table.entries[name]
    if entry.words:
        return text in table.word_set(name)
    if entry.phrases:
        return contains_any(table.phrases(name), text)
    found = getattr(table.pattern(name), entry.method)(text)
    return found is not None and found[0] != ""


def items(entry: Entry) -> list[str]:
    return entry.words.split() or [*entry.phrases] or [entry.pattern]


def test_every_module_of_the_rules_has_its_table() -> None:
    modules = {path.stem for path in FOLDER.parent.glob("*.py") if "PhraseTable(" in path.read_text(encoding="utf-8")}
    assert set(TABLES) == modules


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_an_entry_is_one_list_or_one_pattern(table: PhraseTable, name: str) -> None:
    entry = table.entries[name]
    assert [bool(entry.words), bool(entry.phrases), bool(entry.pattern)].count(True) == 1


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_an_entry_matches_its_example_and_not_its_counterexample(table: PhraseTable, name: str) -> None:
    entry = table.entries[name]
    assert matches(table, name, entry.yes)
    assert not matches(table, name, entry.no)


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_a_list_has_no_duplicates(table: PhraseTable, name: str) -> None:
    assert [text for text, count in Counter(items(table.entries[name])).items() if count > 1] == []


def test_no_pattern_is_in_two_entries() -> None:
    patterns = Counter(entry.pattern for table in TABLES.values() for entry in table.entries.values() if entry.pattern)
    assert [pattern for pattern, count in patterns.items() if count > 1] == []


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_a_line_of_a_pattern_neither_begins_nor_ends_with_a_space(table: PhraseTable, name: str) -> None:
    """An editor that strips such a space would silently change the pattern."""
    lines = table.entries[name].pattern.strip("\n").split("\n")
    assert len(lines) == 1 or lines == [line.strip() for line in lines]


def test_comments_and_line_breaks_are_not_part_of_a_pattern() -> None:
    pattern = TABLES["decisions"].pattern("decided").pattern
    assert "\n" not in pattern and "# " not in pattern and "{filler}" not in pattern


def test_the_phrases_of_a_text_are_found() -> None:
    assert phrases_in(("because", "since"), "it hangs because of a lock") == ("because",)
    assert phrases_in(("because",), "it hangs") == ()
