"""Prompts for MCP clients that have their own model: the instructions that sub-agents get."""

from collections.abc import Mapping
from importlib.resources import files

from msgspec import Struct


class Prompt(Struct, frozen=True):
    """The instructions of one of the files for agents, with the arguments below them. All arguments are required."""

    name: str
    title: str
    description: str
    arguments: dict[str, str]
    file: str

    def text(self, values: Mapping[str, str]) -> str:
        _, _, instructions = (files("recollect") / "agents" / self.file).read_text("utf-8").split("---\n", 2)
        arguments = "\n".join(f"{name.capitalize()}: {values[name]}" for name in self.arguments)
        return f"{instructions.strip()}\n\n{arguments}"


SEARCH_CONVERSATION = Prompt(
    "search-conversation",
    "Answer from past sessions",
    "Goes search, details, read by itself and answers in 1,000 to 2,000 tokens with its sources.",
    {"question": "What you want to know."},
    "search-conversation.md",
)
