"""Secrets are taken out before anything is stored: one table of rules.

Rules stand behind a hint: a cheap expression without which none of them can match, because nearly every text has no
secret in it and must cost next to nothing. What a rule finds is replaced by `[REDACTED:<rule>]`; the surroundings stay,
so that the event is still readable and searchable.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

SHORTEST = 16  # characters: no text below this holds a secret that any rule knows
VALUE = "[A-Za-z0-9+/_!@#%^*~-]"
MARK = re.compile(r"\[REDACTED:([a-z-]+)\]")
START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"  # of a word, also behind an escaped newline inside JSON
SECRET_NAMES = ("password", "passwd", "secret", "api_key", "apikey", "access_key", "token")
PREFIXES = (
    "(?<![A-Za-z0-9_-])sk-", r"\\[nrt]sk-", "sk-ant-", "gh[pousr]_", "hub_pat_", "npm_", "hf_", "_live_", "_test_", "whsec_",
    "_v1_", "shp[acps][ats]_", "lin_api_", "n_oauth_", "glpat-", "glptt-", "gl.t-", "glcbt-", "pypi-", "GOCSPX-",
    "xox[abeoprs]-", r"xapp-\d-",
)  # fmt: skip
NAMED = "(?i:" + "|".join(rf"(?<={name}.)|(?<={name}[\"' ].)|(?<={name}\\[\"'].)" for name in SECRET_NAMES) + ")"

# Tokens with a telling prefix, and values assigned to a telling name: a delimiter with a long word behind it comes
# first, because that is rare, a digit in that word next, and what must precede it last, because that is dear.
BEHIND = r"\s?\\?[\"']?"  # what may stand between a delimiter and its value, also inside JSON
DELIMITED = (
    rf"[-_=:](?={BEHIND}{VALUE}{{10}})(?={BEHIND}[A-Za-z+/_!@#%^*~-]{{0,64}}[0-9])"
    rf"(?:{'|'.join(f'(?<={prefix})' for prefix in PREFIXES)}|(?<=[=:]){NAMED})"
)
DELIMITED_RULES = {
    "anthropic-key": r"sk-ant-[A-Za-z0-9_-]{16,}",
    "openai-key": START + r"sk-(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{20,}",
    "stripe-key": r"(?:[srp]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}",
    "github-token": r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,}",
    "gitlab-token": r"gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{20,}",
    "slack-token": r"xox[abeoprs]-(?=[A-Za-z0-9-]*\d)[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
    "google-key": r"GOCSPX-[A-Za-z0-9_-]{20,}",
    "npm-token": r"npm_[A-Za-z0-9]{30,}",
    "pypi-token": r"pypi-[A-Za-z0-9_-]{50,}",
    "huggingface-token": START + r"hf_[A-Za-z0-9]{30,}",
    "digitalocean-token": r"do[opr]_v1_[a-f0-9]{40,}",
    "shopify-token": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "linear-key": r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    "assigned-secret": rf"([=:](?=\s?[\"']?{VALUE}{{16}}){NAMED}\s?[\"']?)"
    rf"(?={VALUE}*[0-9])(?={VALUE}*[a-z]){VALUE}{{16,}}(?![A-Za-z0-9_.(\[])",
}
# hint -> {rule: pattern}; every hint begins with a literal
HINTED_RULES = {
    r"A(?:KIA|SIA|Iza|T[AC]TT3)": {
        "aws-key": START + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])",
        "google-key": r"AIza[A-Za-z0-9_-]{35}",
        "atlassian-token": r"AT[AC]TT3[A-Za-z0-9_=-]{20,}",
    },
    r"PRIVATE KEY": {
        "private-key": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    },
    r"eyJ": {"json-web-token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"},
    r"ya29\.": {"google-key": r"ya29\.[A-Za-z0-9_-]{20,}"},
    r"SG\.": {"sendgrid-key": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"},
    r":AA": {"telegram-token": r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{33}"},
    r"earer ": {"bearer-token": r"(?<=earer )(?=[A-Za-z0-9._~+/-]*\d)[A-Za-z0-9._~+/-]{20,}=*"},
    r"asic ": {"basic-auth": r"(?i:(authorization[\"']?\s?[:=]\s?[\"']?basic ))[A-Za-z0-9+/]{8,}={0,2}(?![A-Za-z0-9+/=])"},
    r"://[^/\s@]*@": {"url-password": r"(://)[A-Za-z0-9._%+-]{0,64}:[^\s:/@'\"`<>{}$]{3,256}(?=@[A-Za-z0-9\[])"},
    r"hooks\.slack": {"slack-webhook": r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}"},
    DELIMITED: DELIMITED_RULES,
}
RULES = sorted({name for rules in HINTED_RULES.values() for name in rules})


def _compiled(rules: dict[str, str]) -> list[tuple[str, re.Pattern[str], str]]:
    """(rule, expression, replacement); a group in an expression is kept."""
    compiled = [(name, re.compile(pattern)) for name, pattern in rules.items()]
    return [(name, found, rf"\1[REDACTED:{name}]" if found.groups else f"[REDACTED:{name}]") for name, found in compiled]


_hinted = [(re.compile(hint).search, _compiled(rules)) for hint, rules in HINTED_RULES.items()]


def suspects(texts: Sequence[str]) -> set[int]:
    """Which of many texts, or JSON values written as text, may hold a secret: mostly none, for one pass over them all."""
    joined = "\n".join(texts)
    found: set[int] = set()
    for hint in (MARK.search, *(hint for hint, _ in _hinted)):
        if hint(joined) is not None:
            found.update(place for place, text in enumerate(texts) if hint(text) is not None)
    return found


def marks(text: str) -> Counter[str]:
    """How many secrets of which rule were taken out of a text, now or before it came here."""
    return Counter(MARK.findall(text))


def redact(text: str, counts: Counter[str] | None = None) -> str:
    """The text without its secrets; `counts` learns how many of which rule."""
    if len(text) < SHORTEST:
        return text
    for hint, rules in _hinted:
        if hint(text) is not None:
            text = _apply(rules, text, counts)
    return text


def _apply(rules: list[tuple[str, re.Pattern[str], str]], text: str, counts: Counter[str] | None) -> str:
    for name, pattern, replacement in rules:
        text, found = pattern.subn(replacement, text)
        if found and counts is not None:
            counts[name] += found
    return text


def redact_all(value: Any, counts: Counter[str] | None = None) -> Any:
    """The same for every string inside a JSON value."""
    if isinstance(value, str):
        return redact(value, counts)
    if isinstance(value, dict):
        return {redact(key, counts): _redact_named(key, item, counts) for key, item in value.items()}
    if isinstance(value, list):
        return [redact_all(item, counts) for item in value]
    return value


def _redact_named(name: str, value: Any, counts: Counter[str] | None) -> Any:
    """A value whose name says that it is a secret is read together with the name."""
    if not isinstance(value, str) or not name.lower().endswith(SECRET_NAMES):
        return redact_all(value, counts)
    return redact(f"{name}={value}", counts).removeprefix(f"{name}=")
