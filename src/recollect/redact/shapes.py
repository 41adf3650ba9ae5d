"""Turns shapes of secrets into regular expressions: `ghp_<w36+>` is `ghp_` and at least 36 letters or digits.

A shape is easier to read, and to compare with a service's documentation, than its regular expression.
"""

import re

ALPHABETS = {
    "a": "A-Za-z",
    "b": "A-Za-z0-9_-",
    "d": "0-9",
    "e": "A-Za-z0-9%+/=_-",
    "f": "A-Za-z0-9+/",
    "h": "A-Fa-f0-9",
    "l": "a-z0-9",
    "p": "A-Za-z0-9_.=-",
    "u": "A-Z0-9",
    "w": "A-Za-z0-9",
    "x": "a-f0-9",
}
NEWLINE = r"(?:\r?\n|\\{1,7}n)"  # also escaped, any number of times
UUID = "<h8>-<h4>-<h4>-<h4>-<h12>"
PART = re.compile(r"<([a-z])(\d+)(?:-(\d+)|(\+))?>")
# The start of a word; also after an escaped newline, a percent escape, an escaped character or a terminal color
START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9a-f]{2})|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)
END = r"(?![A-Za-z0-9])"


def pattern_of(shape: str) -> str:
    """The regular expression of a shape. After a part of fixed length, the word must end."""
    parts, end = [], 0
    for part in PART.finditer(shape):
        parts += [re.escape(shape[end : part.start()]), _part_pattern(part)]
        end = part.end()
    parts.append(re.escape(shape[end:]))
    return "".join(parts) + ("" if shape.endswith("+>") else END)


def _part_pattern(part: re.Match[str]) -> str:
    alphabet, minimum, maximum, is_open = part.groups()
    length = f"{minimum}," if is_open else f"{minimum},{maximum}" if maximum else minimum
    return f"[{ALPHABETS[alphabet]}]{{{length}}}"
