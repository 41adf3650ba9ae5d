"""How settings files of agents are edited: where our part goes, and that removing it gives the same text again."""

import pytest

from recollect.setup.editing import NotEditable, open_document

ENTRY = {"command": "/bin/recollect", "args": ["mcp"]}

JSON = {
    '{\n  "a": 1\n}\n': '{\n  "a": 1,\n  "mcp": {\n    "recollect": {\n      "command": "/bin/recollect",\n      "args": ["mcp"]\n    }\n  }\n}\n',
    '{\n\t"mcp": {\n\t\t"x": {}, // last\n\t},\n}': '{\n\t"mcp": {\n\t\t"x": {}, // last\n\t\t"recollect": {\n\t\t\t"command": "/bin/recollect",\n\t\t\t"args": ["mcp"]\n\t\t},\n\t},\n}',
    '{\r\n    "mcp": {\r\n        "x": 1\r\n    }\r\n}\r\n': '{\r\n    "mcp": {\r\n        "x": 1,\r\n        "recollect": {\r\n            "command": "/bin/recollect",\r\n            "args": ["mcp"]\r\n        }\r\n    }\r\n}\r\n',
    '{"a":1,"mcp":{"x":2}}': '{"a":1,"mcp":{"x":2,"recollect":{"command":"/bin/recollect","args":["mcp"]}}}',
    '{"a": 1, "mcp": {}}': '{"a": 1, "mcp": {"recollect": {"command": "/bin/recollect", "args": ["mcp"]}}}',
    '{\n  "mcp": {\n    "x": 1 /* a\n    b */\n  }\n}\n': '{\n  "mcp": {\n    "x": 1, /* a\n    b */\n    "recollect": {\n      "command": "/bin/recollect",\n      "args": ["mcp"]\n    }\n  }\n}\n',
    '{"mcp": {"x": 1}, "mcp": {"y": 2}}': '{"mcp": {"x": 1}, "mcp": {"y": 2, "recollect": {"command": "/bin/recollect", "args": ["mcp"]}}}',
}  # fmt: skip
TOML = {
    "": '[mcp.recollect]\ncommand = "/bin/recollect"\nargs = ["mcp"]\n',
    "a = 1 # one\n": 'a = 1 # one\n\n[mcp.recollect]\ncommand = "/bin/recollect"\nargs = ["mcp"]\n',
    "[mcp.x]\r\na = 1\r\n# end\r\n": '[mcp.x]\r\na = 1\r\n# end\r\n\r\n[mcp.recollect]\r\ncommand = "/bin/recollect"\r\nargs = ["mcp"]\r\n',
    "mcp = {}\n": 'mcp = { recollect = { command = "/bin/recollect", args = ["mcp"] } }\n',
    "mcp = { x = { a = 1 } } # c\n": 'mcp = { x = { a = 1 }, recollect = { command = "/bin/recollect", args = ["mcp"] } } # c\n',
    "mcp.x.a = 1 # c\n\n[b]\n": 'mcp.x.a = 1 # c\nmcp.recollect = { command = "/bin/recollect", args = ["mcp"] }\n\n[b]\n',
}
YAML = {
    "a: 1\nmcp:\n  x:\n    b: |\n      # text\n  # end\nc: 2\n": "a: 1\nmcp:\n  x:\n    b: |\n      # text\n  recollect:\n    command: /bin/recollect\n    args:\n    - mcp\n  # end\nc: 2\n",
    "mcp:\r\n    x: {a: 1}\r\n": "mcp:\r\n    x: {a: 1}\r\n    recollect:\r\n      command: /bin/recollect\r\n      args:\r\n      - mcp\r\n",
}
CASES = [
    (format, before, after)
    for format, cases in (("json", JSON), ("toml", TOML), ("yaml", YAML))
    for before, after in cases.items()
]


@pytest.mark.parametrize(("format", "before", "after"), CASES)
def test_an_entry_is_inserted_as_a_person_would_write_it_and_removing_it_leaves_no_trace(
    format: str, before: str, after: str
) -> None:
    document = open_document(format, before).put(("mcp", "recollect"), ENTRY)
    assert document.text == after
    is_new = "mcp" not in before
    removed = document.remove(("mcp",) if is_new and format == "json" else ("mcp", "recollect"))
    assert removed.text == before


@pytest.mark.parametrize(
    ("format", "text", "path", "expected"),
    [
        ("json", '{"a": {"b": "x", "c": 1}}', ("a", "b"), '{"a": {"b": "/y", "c": 1}}'),
        ("json", '{"a": [{"b": "x"}, 2]}', ("a", 0, "b"), '{"a": [{"b": "/y"}, 2]}'),
        ("toml", '[a]\nb = "x" # c\n', ("a", "b"), '[a]\nb = "/y" # c\n'),
        ("toml", "a = { b = 'x', c = 1 }\n", ("a", "b"), 'a = { b = "/y", c = 1 }\n'),
        ("toml", 'a."b" = """x\ny"""\n[c]\n', ("a", "b"), 'a."b" = "/y"\n[c]\n'),
        ("toml", "[a]\nc = 1 # c\n\n[b]\n", ("a", "b"), '[a]\nc = 1\nb = "/y" # c\n\n[b]\n'),
        ("yaml", "a:\n  b: 'x'\n  c: 1\n", ("a", "b"), "a:\n  b: /y\n  c: 1\n"),
        ("yaml", "a:\n  b:\n  - x\n  - y\n  c: 1\n", ("a", "b"), "a:\n  b: /y\n  c: 1\n"),
    ],
)
def test_a_value_is_replaced_in_its_place(format: str, text: str, path: tuple[str | int, ...], expected: str) -> None:
    assert open_document(format, text).put(path, "/y").text == expected


@pytest.mark.parametrize(
    "text", ["{,}", "{'a': 1}", '{"a": 1,, "b": 2}', '{"a" 1}', "{", '{"a": NaN}', "{} x", '{"a": /* }', '"a"']
)
def test_what_is_not_json_with_comments_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        open_document("json", text)


def test_a_path_with_any_characters_is_written_so_that_it_is_read_again() -> None:
    command = 'C:\\a "b"\n\t\x7f é 🙂'
    for format in ("json", "toml", "yaml"):
        document = open_document(format, "").put(
            ("mcp", "recollect"), {"command": command, "args": ["a: b", "- c", "#d", ""]}
        )
        again = open_document(format, document.text).value["mcp"]["recollect"]
        assert again == {"command": command, "args": ["a: b", "- c", "#d", ""]}
