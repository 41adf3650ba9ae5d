"""Setup edits any settings file without touching what is not ours, and undo gives it back byte for byte (claim L8)."""

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recollect.setup import AGENTS, USER, JournalFolder, ProgramCommand, Surroundings, apply_setup, undo_setup
from recollect.setup.agent import Hooks
from recollect.setup.changes import Changes, revert_all
from recollect.setup.editing import NotEditable, SettingsDocument, open_document, value_at
from recollect.setup.parts import Part, Server
from tests.memory_folder import memory_folder

many = settings(max_examples=100, deadline=None)
PROGRAM = ProgramCommand(("/opt/recollect/bin/recollect",))
JSON_PARTS: tuple[Part, ...] = (Server(fixed={"type": "stdio"}), Hooks("hooks.json"))
TOML_PARTS: tuple[Part, ...] = (Server(at=("mcp_servers",)),)
YAML_PARTS: tuple[Part, ...] = (Server(at=("extensions",), fixed={"enabled": True}, command="cmd", env="envs"),)


def put(document: SettingsDocument, parts: tuple[Part, ...]) -> tuple[SettingsDocument, Changes]:
    """The document with these parts, and what changed."""
    changes: Changes = []
    for part in parts:
        document, made = part.apply(document, PROGRAM)
        changes += made
    return document, changes


def is_inserted_into(before: str, after: str) -> bool:
    """Whether all characters of a text are in another one in the same order. Spaces in empty brackets may go."""
    remaining = iter(after)
    return all(letter in remaining for letter in "".join(before.split()))


def is_strict(text: str) -> bool:
    """Whether a text is JSON without comments and trailing commas."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def check(format: str, text: str, parts: tuple[Part, ...]) -> None:
    """Our parts are added once, nothing is lost, and reverting leaves the old value."""
    before = open_document(format, text)
    after, changes = put(before, parts)
    assert is_inserted_into(text, after.text)
    assert open_document(format, after.text).value == after.value
    assert put(after, parts) == (after, []), "a second time changes nothing"
    reverted = revert_all(after, changes)
    assert reverted.value == before.value
    if format == "json" and is_strict(text):
        assert is_strict(after.text) and is_strict(reverted.text), "some agents accept no trailing comma"
    assert text.count("#") == reverted.text.count("#") and text.count("//") == reverted.text.count("//"), "comments stay"


# ---- JSON with comments

KEYS = st.sampled_from(
    ["mcpServers", "hooks", "Stop", "SessionStart", "recollect", "a", "b c", "ключ", '"', "//", "/*"]
) | st.text(max_size=5)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["// no comment", "/* no */", "\\", '"', "{", ",}"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
GROUPS = st.lists(st.fixed_dictionaries({"matcher": st.text(max_size=3), "hooks": st.lists(VALUES, max_size=2)}), max_size=2)
SERVERS = st.dictionaries(KEYS.filter(lambda key: key != "recollect"), VALUES, max_size=3)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PostToolUse", "Other"]), GROUPS, max_size=3)
OBJECTS = st.dictionaries(KEYS.filter(lambda key: key not in ("mcpServers", "hooks")), VALUES, max_size=3)


@st.composite
def settings_objects(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of an agent, whose keys are in any order."""
    members = list(draw(OBJECTS).items())
    if draw(st.booleans()):
        members.append(("mcpServers", draw(SERVERS)))
    if draw(st.booleans()):
        members.append(("hooks", draw(HOOKS)))
    return dict(draw(st.permutations(members)))


SPACES = ["", "", " ", "\n", "\n  ", "\n\t", "\n\n    ", " // note\n  ", " /* note */ ", "\n/* two\n lines */\n", " //\n"]


@st.composite
def written_json(draw: st.DrawFn) -> str:
    """A text for settings, as a person might write it by hand."""
    value = draw(settings_objects())
    style = draw(st.sampled_from(["tidy", "tidy", "wild"]))
    if style == "tidy":
        indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
        separators = draw(st.sampled_from([None, (",", ":")])) if indent is None else None
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    else:
        text = draw(st.sampled_from(SPACES)) + _wild(draw, value) + draw(st.sampled_from(SPACES))
    text += draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def _wild(draw: st.DrawFn, value: Any) -> str:
    """A value with any spaces, comments and trailing commas between its parts."""

    def gap() -> str:
        return draw(st.sampled_from(SPACES))

    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    items = (
        [f"{json.dumps(key)}{gap()}:{gap()}{_wild(draw, one)}" for key, one in value.items()]
        if isinstance(value, dict)
        else [_wild(draw, one) for one in value]
    )
    inside = ",".join(f"{gap()}{item}{gap()}" for item in items)
    trailing = f",{gap()}" if bool(items) and draw(st.booleans()) else ""
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{inside or gap()}{trailing}{closing}"


@many
@given(text=written_json())
def test_any_json_keeps_everything_but_our_parts(text: str) -> None:
    check("json", text, JSON_PARTS)


@many
@given(text=written_json())
def test_comments_do_not_change_what_json_means(text: str) -> None:
    value = open_document("json", text).value
    assert open_document("json", json.dumps(value)).value == value


@many
@given(text=written_json(), other=written_json())
def test_a_part_can_be_removed_wherever_it_ends_up(text: str, other: str) -> None:
    """Agents write their settings again, with our entry in another place and in another layout."""
    after, changes = put(open_document("json", text), JSON_PARTS)
    rewritten = open_document("json", json.dumps({"first": 1, **after.value, "last": 2}, indent=4))
    assert revert_all(rewritten, changes).value == {"first": 1, **open_document("json", text).value, "last": 2}
    unrelated = open_document("json", other)
    assert revert_all(unrelated, changes).value == unrelated.value


# ---- TOML

TOML_KEYS = st.sampled_from(["a", "b-c", '"d e"', '"mcp_servers"', "recollect", "'x.y'", '"ключ"'])
TOML_SCALARS = st.sampled_from(
    ["1", "-0.5", "true", '"text # no comment"', "'it''s'"[:4] + "'", '""', '"""\nmany\nlines # no comment\n[no.table]\n"""', "'''\n'x' = 1\n'''",
     "2026-01-02T03:04:05Z", "[1, 2]", '[ "a", # first\n  "b",\n]', "{ a = 1, b = { c = [] } }", "{}", "[{ a = 1 }, { a = 2 }]", "0x1F", "inf"]
)  # fmt: skip
TOML_ENDS = st.sampled_from(["", " # note", "\t# ]", " # [mcp_servers.recollect]"])
SERVERS_IN_TOML = [
    "",
    '[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y"] # all\n\n[mcp_servers.docs.env]\nKEY = "x"\n',
    "[mcp_servers]\n",
    '[mcp_servers]\ndocs.command = "npx"\n',
    '[mcp_servers]\ndocs = { command = "npx" }\n# the end\n',
    '["mcp_servers"."docs"]\ncommand = "npx"\n',
    "[[mcp_servers.docs.tools]]\nname = 1\n[[mcp_servers.docs.tools]]\nname = 2\n",
]
INLINE_SERVERS = [
    "",
    "mcp_servers = {}\n",
    'mcp_servers = { docs = { command = "npx" } } # one line\n',
    'mcp_servers.docs.command = "npx"\nmcp_servers.docs.args = []\n',
    'mcp_servers.docs = { command = "npx" }\n',
]


@st.composite
def written_toml(draw: st.DrawFn) -> str:
    inline = draw(st.sampled_from(INLINE_SERVERS))
    tables = [draw(st.sampled_from(SERVERS_IN_TOML))] if not inline else []
    for number in range(draw(st.integers(0, 3))):
        header = draw(
            st.sampled_from(["[t{0}]", "[ t{0} . x ]", "[[t{0}]]", "[t{0}.recollect]", "[profiles.mcp_servers.p{0}]"])
        )
        tables.append(
            header.format(number) + draw(TOML_ENDS) + "\n" + "".join(draw(st.lists(pairs(), max_size=2, unique_by=key_of)))
        )
    top = draw(
        st.permutations(
            [inline, *draw(st.lists(pairs(), max_size=3, unique_by=key_of)), draw(st.sampled_from(["", "# top\n", "\n"]))]
        )
    )
    text = "".join([*top, *draw(st.permutations(tables))])
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@st.composite
def pairs(draw: st.DrawFn) -> str:
    spaces = draw(st.sampled_from([" = ", "=", "\t=  "]))
    return f"{draw(st.sampled_from(['', '  ']))}{draw(TOML_KEYS)}{spaces}{draw(TOML_SCALARS)}{draw(TOML_ENDS)}\n"


def key_of(pair: str) -> str:
    return pair.partition("=")[0].strip().strip("\"'")


@many
@given(text=written_toml())
def test_any_toml_keeps_everything_but_our_parts(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    try:
        check("toml", text, TOML_PARTS)
    except NotEditable as reason:
        assert "mcp_servers" in str(reason)


# ---- YAML

YAML_LINES = [
    "GOOSE_MODEL: gpt-5.5 # the best", "quoted: \"a: b # c\"", "'single': 'it''s'", "flow: {a: [1, 2]}", "list:\n- a: 1\n  b: 2\n- c", "empty:",
    "text: |\n  extensions:\n    # no comment\n\n  end", "folded: >-\n  one\n  two", "deep:\n    extensions:\n        recollect: {}", "# a comment",
    "", "url: http://x/y#z", "anchored: &a 1", "list2:\n  - x\n  # between\n  - y",
]  # fmt: skip
EXTENSIONS = [
    "", "extensions:", "extensions: {}", "extensions: {} # none", "extensions:\n  developer:\n    enabled: true\n    args:\n    - mcp\n  # last",
    "extensions:\n    x:\n        cmd: recollectx\n\n        text: |\n            # no comment", "extensions:\n  'x y': {enabled: false}",
]  # fmt: skip


@st.composite
def written_yaml(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.sampled_from(YAML_LINES), unique=True, max_size=5))
    text = "\n".join(draw(st.permutations([*lines, draw(st.sampled_from(EXTENSIONS))])))
    text = draw(st.sampled_from(["", "---\n", "# top\n"])) + text + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@many
@given(text=written_yaml())
def test_any_yaml_keeps_everything_but_our_parts(text: str) -> None:
    document, changes = put(open_document("yaml", text), YAML_PARTS)
    kept = text.replace("extensions: {}", "extensions:")  # the braces of an empty mapping go
    assert is_inserted_into(kept, document.text)
    assert put(document, YAML_PARTS) == (document, [])
    assert value_at(document.value, ("extensions", "recollect", "cmd")) == PROGRAM.words[0]
    before, reverted = open_document("yaml", text).value, revert_all(document, changes).value
    assert {**reverted, "extensions": reverted.get("extensions") or None} == {
        **before,
        "extensions": before.get("extensions") or None,
    }


# ---- whole files, through the journal

CURSOR, CODEX, GOOSE = (
    (name, path)
    for name, path in (
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("goose", ".config/goose/config.yaml"),
    )
)
CONTENTS = {CURSOR: written_json(), CODEX: written_toml(), GOOSE: written_yaml()}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="recollect-test-", dir=memory_folder()))
    yield made
    shutil.rmtree(made)


@many
@given(data=st.data(), bom=st.booleans(), link=st.booleans(), mode=st.sampled_from([0o600, 0o644, 0o640]))
def test_l8_setup_and_undo_leave_any_file_byte_for_byte(
    folder: Path, data: st.DataObject, bom: bool, link: bool, mode: int
) -> None:
    name, path = data.draw(st.sampled_from(list(CONTENTS)))
    content = ("\ufeff" if bom else "").encode() + data.draw(CONTENTS[name, path]).encode("utf-8", "replace")
    home = Path(tempfile.mkdtemp(dir=folder))
    file = home / path
    file.parent.mkdir(parents=True)
    real = home / "elsewhere" if link else file
    real.write_bytes(content)
    real.chmod(mode)
    if link:
        file.symlink_to(real)
    around, journal = Surroundings({"HOME": str(home), "PATH": ""}), JournalFolder(home / "state")
    agents = [agent for agent in AGENTS if agent.name == name]
    before = listing(home)
    applied = apply_setup(agents, around, PROGRAM, journal)
    if applied.plan.problems:
        assert listing(home) == before, "a file that cannot be edited is left alone, and nothing is half done"
        return
    once = real.read_bytes()
    assert not apply_setup(agents, around, PROGRAM, journal).written
    assert real.read_bytes() == once
    undo_setup(journal, USER, ())
    assert listing(home) == before


def listing(home: Path) -> dict[str, tuple[bytes, int]]:
    """The content and mode of every file, apart from our state."""
    files = [Path(place, name) for place, _, names in os.walk(home) for name in names]
    return {str(file): (file.read_bytes(), file.lstat().st_mode) for file in files if home / "state" not in file.parents}
