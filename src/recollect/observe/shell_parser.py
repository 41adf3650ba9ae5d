"""Splits a shell script into simple commands, and tells which words and commands are certain.

This is not a shell: a word with a variable, a glob or a substitution is uncertain, and so is what a condition or a loop
runs. Where the text cannot be followed any more, reading stops, and what was read before stays.
"""

import re

from msgspec import Struct

MAX_SCRIPT = 400_000  # characters: here-documents can hold whole files
MAX_TOKENS = 1_500  # of one script; 99.9 % of scripts have fewer than 500
UNCERTAIN = "\0"  # begins a word that the shell expands

TOKEN = re.compile(
    r"""
      (?P<space>(?:[ \t\r]|\\\r?\n)++)
    | (?P<newline>\n)
    | (?P<comment>\#[^\n]*+)
    | (?P<heredoc><<-?(?!<)[ \t]*+(?:'(?P<single>[^'\n]+)'|"(?P<double>[^"\n]+)"|(?P<escaped>\\)?(?P<bare>[\w.!-]+)))
    | (?P<redirect><<<|(?:\d{1,2}|&)?>>?[|&]?(?!\()|\d?<&|\d?<>|\d?<(?![(<]))
    | (?P<arithmetic>\(\()
    | (?P<operator>&&|\|\|?&?|;;?&?|&|[<>]?\(|\))
    | (?P<word>(?:
          [^\s'"\\$`;&|<>()]++
        | '[^']*+'
        | "(?:[^"\\`$]++|\\[\s\S]|\$\([^()"'`\\<]*+\)|`[^`"\\]*+`|\$(?!\())*+"
        | \\[\s\S]
        | \$(?:\w++|\{[^{}'"`]*+\}|[@*\#?$!-]|'(?:[^'\\]|\\.)*+'|\(\([^()]*+\)\)
              |\((?:[^()'"`\\<]|'[^']*+'|"[^"$`\\]*+")*+\)|(?![\w({'"]))
        | `[^`\\]*+`
      )++)
    """,
    re.VERBOSE,
)
PLAIN = re.compile(r"[\w./@%+=:,~^\[\]-]+")
PIECE = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^'"\\]+)""")
EXPANDED = re.compile(r"[$`*?{}]")
ESCAPED_IN_QUOTES = re.compile(r"\\([\\\"$`\n])")
BLOCK_STARTS = frozenset(["if", "for", "while", "until", "case", "select", "function"])
BLOCK_ENDS = frozenset(["fi", "done", "esac"])
INNER_WORDS = frozenset(["then", "do", "else", "elif", "{", "}", "!", "time"])

JOINTS = frozenset(["&&", "||", "|", "|&"])
STOPS = (["exit"], ["return"], ["false"])


class Redirect(Struct, frozen=True):
    """A redirection of a command: `>`, `>>` or `<`, and its file."""

    operator: str
    target: str


class ShellCommand(Struct):
    """One program with its words. `certain` says that it ran if the script succeeded."""

    words: list[str] = []
    redirects: list[Redirect] = []
    body: str | None = None  # of a here-document
    expanded: bool = False  # the shell expands the here-document
    certain: bool = True
    subshells: tuple[int, ...] = ()  # the parentheses around it, each with a number of its own


class _Parser:
    """Reads one script from left to right."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.position = 0
        self.commands: list[ShellCommand] = []
        self.chain: list[tuple[str, ShellCommand]] = []  # commands joined by && and ||, each with what is before it
        self.joint = ""  # what joins the current command to the one before
        self.depth = 0  # of conditions and loops
        self.subshells: tuple[int, ...] = ()
        self.subshell_count = 0
        self.open_bodies: list[tuple[ShellCommand, str, bool]] = []
        self.operator = ""  # a redirection that waits for its file
        self.current = ShellCommand(words=[], redirects=[])

    def parse(self) -> list[ShellCommand]:
        for _ in range(MAX_TOKENS):
            token = TOKEN.match(self.script, self.position)
            if token is None:
                break
            self.position = token.end()
            kind = token.lastgroup
            if kind == "space" or kind == "comment":
                continue
            if kind == "word":
                if not self._add_word(token[0]):
                    return self._finish(whole=False)
            elif kind == "redirect":
                self.operator = token[0]
            elif kind == "arithmetic":
                return self._finish(whole=False)
            elif kind == "newline":
                self._end_command("\n")
                self._read_bodies()
            elif kind == "operator":
                if not self._add_operator(token[0]):
                    return self._finish(whole=False)
            else:
                self._open_body(token)
        return self._finish(whole=self.position >= len(self.script))

    def _finish(self, *, whole: bool) -> list[ShellCommand]:
        """The commands. The one at which reading stopped is left out, and so are those that depend on it."""
        if whole:
            self._end_command("\n")
        elif self.operator or self.current.words:
            self.current = ShellCommand()
        self._end_chain()
        return self.commands

    def _add_word(self, raw: str) -> bool:
        word = unquote(raw)
        if self.operator:
            self._redirect(word)
            return True
        words = self.current.words
        if not words and raw in BLOCK_STARTS:
            if raw == "function":
                return False
            self.depth += 1
        elif not words and raw in BLOCK_ENDS:
            self.depth = max(0, self.depth - 1)
        elif not words and raw in INNER_WORDS:
            return True
        words.append(word)
        return True

    def _redirect(self, word: str) -> None:
        operator, self.operator = self.operator, ""
        if operator.endswith("&") and (word.isdigit() or word == "-"):
            return
        if operator == "<<<" or operator.endswith("<&"):
            return
        name = "<" if "<" in operator else ">>" if ">>" in operator else ">"
        self.current.redirects.append(Redirect(name, word))

    def _add_operator(self, operator: str) -> bool:
        if operator.endswith("("):
            if operator == "(" and self.current.words:
                return False  # a function, or an array
            if operator != "(":  # a process that is read or written like a file
                self._end_command("|")
            self.subshell_count += 1
            self.subshells = (*self.subshells, self.subshell_count)
            return True
        if operator == ")":
            self._end_command(";")
            self.subshells = self.subshells[:-1]
            return True
        self._end_command(operator)
        return True

    def _end_command(self, operator: str) -> None:
        command = self.current
        if command.words or command.redirects or command.body is not None:
            command.certain = self.depth == 0
            command.subshells = self.subshells
            self.chain.append((self.joint, command))
        elif operator == "\n" and self.joint:
            return  # a command goes on after `&&` at the end of a line
        self.operator = ""
        self.current = ShellCommand(words=[], redirects=[])
        self.joint = operator if operator in JOINTS else ""
        if not self.joint:
            self._end_chain()

    def _end_chain(self) -> None:
        """Close commands joined by && and ||. With an alternative none of them is certain, unless it ends the script."""
        alternatives = [command for joint, command in self.chain if joint == "||"]
        is_uncertain = any(command.words[:1] not in STOPS for command in alternatives)
        for command in [command for _, command in self.chain] if is_uncertain else alternatives:
            command.certain = False
        self.commands += [command for _, command in self.chain]
        self.chain = []

    def _open_body(self, token: re.Match[str]) -> None:
        word = token["single"] or token["double"] or token["bare"]
        quoted = token["bare"] is None or token["escaped"] is not None
        self.current.expanded = not quoted
        self.open_bodies.append((self.current, word, token[0].startswith("<<-")))

    def _read_bodies(self) -> None:
        for command, word, is_indented in self.open_bodies:
            indent = r"\t*" if is_indented else ""
            end = re.compile(rf"^{indent}{re.escape(word)}[ \t\r]*$", re.MULTILINE).search(self.script, self.position)
            stop = end.start() if end else len(self.script)
            command.body = self.script[self.position : stop]
            self.position = min(end.end() + 1, len(self.script)) if end else stop
        self.open_bodies = []


def parse_script(script: str) -> list[ShellCommand]:
    """The simple commands of a script, in order."""
    return _Parser(script[:MAX_SCRIPT]).parse()


def unquote(word: str) -> str:
    """A word without its quotes. A word that the shell would expand begins with `UNCERTAIN`."""
    if PLAIN.fullmatch(word):
        return word
    parts: list[str] = []
    is_certain = True
    for single, double, escaped, plain in PIECE.findall(word):
        if double:
            is_certain = is_certain and "$" not in double and "`" not in double
            parts.append(ESCAPED_IN_QUOTES.sub(r"\1", double) if "\\" in double else double)
        elif plain:
            is_certain = is_certain and EXPANDED.search(plain) is None
            parts.append(plain)
        else:
            parts.append(single or escaped)
    text = "".join(parts)
    return text if is_certain else UNCERTAIN + text


def is_certain(word: str) -> bool:
    return word[:1] != UNCERTAIN
