"""Distinguishes a secret from other values: placeholders, references, identifiers, words."""

import re

# The 200 pairs of letters that make up nine tenths of the words in code and English.
PAIRS = frozenset(
    """ab ac ad ag ai al am an ap ar as at au ay ba be bi bl bo bs bu ca ce ch ci ck cl co cr ct cu da de di do dr ds du ea
    ec ed ee ef eg el em en ep er es et ev ew ex fa fe ff fi fl fo fr fu ge gi gr gs ha he hi ho ia ib ic id ie if ig il im
    in io ip ir is it iv iz ke la ld le li ll lo ls lt lu ly ma mb me mi mo mp na nc nd ne nf ng ni no ns nt nu ob oc od og
    ol om on oo op or os ot ou ov ow pa pe pi pl po pp pr ps pt py qu ra rc rd re rg ri rm rn ro rr rs rt ru ry sa sc se sh
    si sl so sp ss st su sy ta tc te th ti tl to tp tr ts tt tu ty ua ub ue ui ul um un up ur us ut va ve vi wa we wi xt yp
    ze""".split()
)
WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])")  # of an identifier, in camel case or any other
IDENTIFIER = re.compile(
    r"""\A[A-Z]{1,4}\d{0,3}(?:_[A-Z]+)+\Z             # P11_KIT_URI
      | \A_*[a-z]+\d{0,2}(?:_[a-z]+\d{0,2})+\Z        # user5_name
      | \A[A-Z]{0,4}[a-z]*(?:[A-Z][a-z]{2,})+(?:I[dD])?\Z   # sessionWorktrees, AWSAccessKeyId
      | \A[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z               # client.webhooks
      | \A[a-z]+(?:[_.-][a-z]+)+\Z | \A[A-Z]+(?:[_.-][A-Z]+)+\Z
      | (?i:key|token|secret|password|passwd|pwd|auth|credentials?)s?\Z   # a name that ends in what it is a name of
    """,
    re.VERBOSE,
)
MIN_PAIR_SHARE = 0.65  # of common letter pairs in a word; random letters reach it once in a hundred words
MIN_WORD_SHARE = 0.6  # of words in a name; 9 in 10 identifiers have it, 1 in 1,000 random strings of 16 characters
MIN_NUMBERS = 4  # groups of digits: identifiers have fewer

REFERENCE = re.compile(
    r"""\$(?:[A-Za-z_][\w.>\[\]'"/-]*\Z|[{(])          # $TOKEN, ${TOKEN}, $(pass show token)
      | [<{\[(*|),;]|&\w|--\w                         # <token>, {token}, *****, &token, --option
      | \w+(?:::|\?\.)\w|\w+\[|\+?\w+\.\w+(?:\?\?|\+\Z)   # a::b, a?.b, a[b], a.b ?? c
      | \w+:\w+:\w                                    # urn:a:b
      | \#(?:\{|[0-9A-Fa-f]{3,8}\Z)|%(?:[(sd{]|\w+%\Z)|@[\w.-]+(?:[@/]|\Z)   # #{token}, a color, %s, %TOKEN%, @param@
      | .*(?:\$\{|\{\{|\}\}|<[^>]*>|%\(|\#\{|\{[\w.]*\})     # a template
      | (?:process\.env|os\.environ|env\.|ENV\[|secrets\.|vars\.|var\.|self\.|this\.|config\.|settings\.|args\.|options\.)
      | https?://|[~.]{1,2}[/\\]|[A-Za-z]:[/\\]|/(?:[a-z.][a-z0-9_.-]*|Users|Library|Applications)/   # a path""",
    re.VERBOSE,
)
PLACEHOLDER = re.compile(
    r"""x{4,}|\*{3,}|\.{3}|…|-{4,}|_{4,}|\?{3,}|your|placeholder|change.?(?:me|this|it)|replace|redacted|dummy|insert|fake
      | not.?(?:set|real|a.?secret)|to.?be.?|foobar|lorem|sample|example(?!key)""",
    re.VERBOSE | re.IGNORECASE,
)
BLANK = re.compile(r"x{6,}|\*{3,}|\.{3}|…|your[-_ ]|[-_]here\b|\Assh-(?:ed25519|rsa|ecdsa)|([^A])\1{11}", re.IGNORECASE)
# Words that stand for a password in documentation, translations and schemas
TELLING = re.compile(
    r"""pass|pwd|secret|token|key|cred|auth|user|login|admin|root|test|mock|stub|string|enter|change|default|required|invalid|
        hidden|text|input|type|label|field|value|name|none|null|true|false|undefined|empty|optional|demo|prod|staging|local|
        param|config|option|enabled|disabled|object|number|boolean|bytes|encrypt|decrypt|hash|salt|random|generat|valid""",
    re.VERBOSE | re.IGNORECASE,
)
# A word of any language, as in the label of a field, or a name
LABEL = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:-[a-z]+)*|[A-Za-z_]+(?:\.[A-Za-z_]+)+|[A-Z]+(?:_[A-Z0-9]+)+")
CAMEL = re.compile(r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)+\d{0,4}")
MIN_LETTERS = 12  # of a password without a digit
NUMBER = re.compile(r"[\d.:/-]+|0[xX][0-9A-Fa-f]+[uUlL]*")  # a count, a version, a date, a constant
MIN_VARIETY = 6  # different characters; a value with fewer is a placeholder


def is_blank(value: str) -> bool:
    """Whether a token that has the right shape is a placeholder: `ghp_xxxxxxxx`."""
    return len(set(value)) < MIN_VARIETY - 1 or BLANK.search(value) is not None


def is_reference(value: str) -> bool:
    """Whether a value refers to a secret: a variable, a template, a path, a URL."""
    return REFERENCE.match(value) is not None


def is_wordy(value: str) -> bool:
    """Whether a value is mostly words: an identifier, a sentence, a path."""
    if IDENTIFIER.search(value):
        return True
    if len(re.findall(r"\d+", value)) >= MIN_NUMBERS:
        return False
    words = sum(len(word) for word in WORD.findall(value) if _is_word(word.lower()))
    return words >= MIN_WORD_SHARE * sum(map(str.isalnum, value))


def _is_word(word: str) -> bool:
    common_pairs = sum(word[at : at + 2] in PAIRS for at in range(len(word) - 1))
    return common_pairs >= MIN_PAIR_SHARE * (len(word) - 1)


def is_key(value: str, min_length: int) -> bool:
    """Whether a value looks random enough to be a key."""
    if len(value) < min_length or len(set(value)) < MIN_VARIETY or NUMBER.fullmatch(value) or not value.isascii():
        return False
    return not (is_reference(value) or PLACEHOLDER.search(value) or is_wordy(value))


def is_password(value: str, *, literal: bool) -> bool:
    """Whether a value may be a password. `literal` means that it cannot be a variable's name."""
    if len(value) < 6 or len(set(value)) < 4 or is_reference(value) or PLACEHOLDER.search(value):
        return False
    is_mixed = any(map(str.isdigit, value)) and not value.isdigit()
    if not is_mixed and (" " in value or not value.isascii() or LABEL.fullmatch(value)):
        return False
    if not literal and CAMEL.fullmatch(value):
        return False
    if (
        not NUMBER.fullmatch(value)
        and not is_wordy(value)
        and (literal or " " not in value)
        and (is_mixed or len(value) >= MIN_LETTERS)
    ):
        return literal or len(value) >= 8
    if not literal or TELLING.search(value) or (NUMBER.fullmatch(value) and not value.isdigit()):
        return False
    if is_mixed or not value.isalnum():
        return " " not in value
    return value.isdigit() or (len(value) >= MIN_LETTERS and value in (value.lower(), value.upper())) or not is_wordy(value)
