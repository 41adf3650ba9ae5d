"""Finds the model that a name in a log means: `us.anthropic.claude-opus-4-5-20251101-v1:0` is `claude-opus-4-5`.

Agents and routers add prefixes, dates and options to a vendor's name. Only additions that do not change the price are
removed. A name with an unknown prefix means no model, because another host of an open model has prices of its own.
"""

import re

# The vendor itself, or a service that charges the vendor's list prices.
PREFIXES = {
    *("anthropic", "openai", "google", "x-ai", "xai", "deepseek", "moonshotai", "moonshot-ai", "moonshot", "zai", "z-ai"),
    *(
        "mistral",
        "mistralai",
        "minimax",
        "qwen",
        "alibaba",
        "dashscope",
        "gemini",
        "vertex_ai",
        "vertex",
        "bedrock",
        "azure",
    ),
    *("openrouter", "litellm", "models", "publishers", "openai-codex", "claude", "copilot", "github-copilot", "converse"),
}
BEDROCK_REGION = re.compile(r"^(?:us|eu|apac|global|jp|au|ca|us-gov)\.(?=[a-z]+\.)")
BEDROCK_VENDOR = re.compile(r"^(?:anthropic|openai|mistral|moonshot|zai|minimax|deepseek)\.(?=[a-z])")
BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)?$")
OPTIONS = re.compile(r"(?:\[1m\]|:(?:thinking|beta|extended))$")  # a longer context or thinking, at the same base price
DATE = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d)$")
LATEST = re.compile(r"[-:@](?:latest|default)$")
EFFORT = re.compile(r"^((?:gpt-[5-9]|o[1-9]).*?)(?:[-:]|\()(?:none|minimal|low|medium|high|xhigh)\)?$")
CLAUDE = re.compile(
    r"claude-(?:(?P<family>opus|sonnet|haiku|fable)-(?P<version>\d+(?:-\d)?)|(?P<first>\d+(?:-\d)?)-(?P<last>opus|sonnet|haiku))"
    r"(?:-thinking)?"
)


def model_names(written: str) -> tuple[str, ...]:
    """The names that a model may have in the price table, with its date first; none if the name means no model."""
    name = _without_prefixes(written.strip().lower())
    for addition in (BEDROCK_REGION, BEDROCK_VENDOR, BEDROCK_VERSION, OPTIONS, LATEST):
        name = addition.sub("", name)
    names = (_plain(name), _plain(DATE.sub("", name)))
    return tuple(dict.fromkeys(name for name in names if name))


def _plain(name: str) -> str:
    """A name without effort, with dashes for dots; a Claude model's family comes before its version."""
    name = EFFORT.sub(r"\1", name).replace(".", "-")
    claude = CLAUDE.fullmatch(name)
    if claude is None:
        return name
    version = claude["version"] or claude["first"]
    return f"claude-{claude['family'] or claude['last']}-{version.removesuffix('-0')}"


def _without_prefixes(name: str) -> str:
    """The last part of a path of known prefixes; empty if one is not known."""
    if name.startswith("arn:aws:bedrock:"):
        return name.rpartition("/")[2]
    *prefixes, last = name.split("/")
    return last if all(prefix in PREFIXES for prefix in prefixes) else ""
