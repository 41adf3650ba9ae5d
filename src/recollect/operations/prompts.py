"""Prompts that clients which bring a model of their own may ask for: the same instructions that sub-agents are given."""

from collections.abc import Mapping
from importlib.resources import files

from msgspec import Struct


class Prompt(Struct, frozen=True):
    """Instructions of one of the files for agents, with what is asked under them. All arguments are required."""

    name: str
    title: str
    description: str
    arguments: dict[str, str]
    file: str

    def text(self, given: Mapping[str, str]) -> str:
        _, _, instructions = (files("recollect") / "agents" / self.file).read_text("utf-8").split("---\n", 2)
        asked = "\n".join(f"{name.capitalize()}: {given[name]}" for name in self.arguments)
        return f"{instructions.strip()}\n\n{asked}"


SEARCH_CONVERSATION = Prompt(
    "search-conversation",
    "Answer from past sessions",
    "Goes search, details, read by itself and answers in 1,000 to 2,000 tokens with its sources.",
    {"question": "What you want to know."},
    "search-conversation.md",
)
