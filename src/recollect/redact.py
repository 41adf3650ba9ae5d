"""Secrets are taken out before anything is stored: one table of rules.

Rules stand behind a hint: a cheap expression without which none of them can match, because nearly every text has no
secret in it and must cost next to nothing. A hint begins with a literal or with a rare character; that is what makes
it fast. What a rule finds is replaced by `[REDACTED:<rule>]`; the surroundings stay, so that the event is still
readable and searchable.
"""

import re
from collections import Counter
from typing import Any

SHORTEST = 16  # characters: no text below this holds a secret that any rule knows
_VALUE = "[A-Za-z0-9+/_!@#%^*~-]"

_SECRET_NAMES = ("password", "passwd", "secret", "api_key", "apikey", "access_key", "token")
_ASSIGNED = rf"[=:](?=\s?[\"']?{_VALUE}{{16}})(?i:" + "|".join(
    rf"(?<={name}.)|(?<={name}[\"' ].)" for name in _SECRET_NAMES
) + ")"  # fmt: skip

# hint -> {rule: pattern}; a group in a pattern is kept
TABLE = {
    r"[-_](?=[A-Za-z0-9_-]{10})(?:(?<=sk-)|(?<=gh[pousr]_)|(?<=hub_pat_)|(?<=npm_)|(?<=hf_)|(?<=_live_)|(?<=_test_)|(?<=whsec_)"
    r"|(?<=_v1_)|(?<=shp[acps][ats]_)|(?<=lin_api_)|(?<=n_oauth_)|(?<=glpat-)|(?<=gl.t-)|(?<=glcbt-)|(?<=pypi-)|(?<=GOCSPX-)"
    r"|(?<=xox[abeoprs]-)|(?<=xapp-\d-))": {
        "anthropic-key": r"sk-ant-[A-Za-z0-9_-]{16,}",
        "openai-key": r"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{20,}",
        "stripe-key": r"(?:[srp]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}",
        "github-token": r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,}",
        "gitlab-token": r"gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{20,}",
        "slack-token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
        "google-key": r"GOCSPX-[A-Za-z0-9_-]{20,}",
        "npm-token": r"npm_[A-Za-z0-9]{30,}",
        "pypi-token": r"pypi-[A-Za-z0-9_-]{50,}",
        "huggingface-token": r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}",
        "digitalocean-token": r"do[opr]_v1_[a-f0-9]{40,}",
        "shopify-token": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        "linear-key": r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    },
    r"A(?:KIA|SIA|Iza|T[AC]TT3)": {
        "aws-key": r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])",
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
    r"asic ": {"basic-auth": r"(?<=asic )(?=[A-Za-z0-9+/]*[A-Z0-9])[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=])"},
    r"://[^/\s@]{0,320}@": {
        "url-password": r"(?<=://)[A-Za-z0-9._%+-]{0,64}:[^\s:/@'\"`<>{}$]{3,256}(?=@[A-Za-z0-9\[])",
    },
    r"https://hooks\.slack": {
        "slack-webhook": r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    },
    _ASSIGNED: {
        "assigned-secret": rf"({_ASSIGNED})\s?[\"']?(?={_VALUE}*[0-9])(?={_VALUE}*[a-z]){_VALUE}{{16,}}(?![A-Za-z0-9_.(\[])",
    },
}


def _compiled(name: str, pattern: str) -> tuple[str, re.Pattern[str], str]:
    expression = re.compile(pattern)
    kept = r"\1" if expression.groups else ""
    return name, expression, f"{kept}[REDACTED:{name}]"


_RULES = [(re.compile(hint), [_compiled(*rule) for rule in rules.items()]) for hint, rules in TABLE.items()]


def redact(text: str, counts: Counter[str]) -> str:
    """The text without its secrets; `counts` learns how many of which rule."""
    if len(text) < SHORTEST:
        return text
    for hint, rules in _RULES:
        if hint.search(text) is not None:
            for name, pattern, replacement in rules:
                text, found = pattern.subn(replacement, text)
                if found:
                    counts[name] += found
    return text


def redact_all(value: Any, counts: Counter[str]) -> Any:
    """The same for every string inside a JSON value, keys included."""
    match value:
        case str():
            return redact(value, counts)
        case list():
            return [redact_all(item, counts) for item in value]
        case dict():
            return {redact(key, counts): redact_all(item, counts) for key, item in value.items()}
        case _:
            return value
