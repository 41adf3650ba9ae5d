"""Concepts: short tags that characterise a turn, from names in code, known technologies and words that recur."""

import re
from collections import Counter
from collections.abc import Iterable

from recollect.observe._sentences import URL, names_in

MOST = 8
TICKED = re.compile(r"`([A-Za-z_@.\-][\w.@:/\-]{1,38}[\w)])`")
SPARE = re.compile(r"[A-Za-z][\w.-]{3,}|\b[A-Z][A-Z0-9]{1,3}\b|[\u3040-\u9fff\uac00-\ud7af]{2,6}|[^\W\d_a-zA-Z]{4,}")
WORD = re.compile(r"\b(?:[A-Za-z][a-z-]{2,20}[a-z]|[A-Z][A-Z0-9]{2,8})\b")
KNOWN = frozenset(
    """python javascript typescript rust golang java kotlin swift ruby rails php elixir haskell scala bash react vue svelte
    angular nextjs next.js expo electron tailwind css html node nodejs deno bun npm pnpm yarn django flask fastapi
    pydantic sqlalchemy pytest numpy pandas torch pytorch tensorflow sklearn jupyter poetry ruff mypy docker
    kubernetes helm terraform ansible nginx redis postgres postgresql mysql sqlite mongodb kafka rabbitmq graphql grpc
    protobuf rest oauth oauth2 jwt websocket webhook webpack vite vitest jest playwright cypress eslint prettier biome
    babel git github gitlab gitignore homebrew goreleaser cargo clippy tokio serde gradle maven cmake aws gcp azure
    lambda s3 vercel netlify cloudflare supabase firebase prisma drizzle stripe openai anthropic claude gemini llm mcp
    tui cli api sdk json yaml toml xml csv regex unicode timezone async threading concurrency cache caching
    authentication authorization encryption migration pagination logging telemetry streaming middleware linux macos
    windows ios android wasm opengl webgl latex markdown rate-limiting refresh-token schema linter benchmark
    worktree""".split()
)
COMMON = frozenset(
    """able about above across actual actually add added adding after again against all allow allows already also although
    and another answer any anything approach are around ask asked asking automatically available back based because
    been before behavior behaviour being below best better between bigger both but call called calls can can't
    cannot case cases change changed changes check checking checks class classes clean clear clearly code come comes
    command commands contain containing contains content contents correct correctly could create created creates
    current currently data default did didn't different directly directory does doesn't don't done during each easy
    either else ending ends ensure ensures entire entirely error errors even every everything exact exactly example
    existing expected explicitly fail failed failing fails false feature features file files find first five fixed
    fixes folder following for found four from full function functions general generally get gets getting give given
    gives going good great had handle handled handles handling has have hence here here's high how however i'll i've
    implement implementation implemented implementing impossible include includes including input instead into
    invalid isn't issue issues it's item items its itself just keep keeps kept know last latest left let let's lets
    like likely line lines list long look looking looks made make makes many may maybe mean means method methods
    might missing more most much multiple must myself name names need needs neither new next none not note notes
    nothing now null off okay old once one only onto option options original other our ourselves out output over own
    part parts pass passed passes passing path paths people perfect person please plus point points possible
    previous probably problem project proper properly question rather read reads really remove removed removes repo
    repository require required requires result results return returns right running runs same second set several
    shall short should shouldn't show shown shows simple simply since single smaller some something specific
    specifically start started starts state step steps still stop string such summary support supported supports
    sure take test tests text than thanks that that's the their them themselves then there there's therefore these
    they they're thing things think this though thought three through thus time tool tools true turn two type types
    unable under unless until update updated updates upon use used user users uses using valid value values various
    version very via want wants was we're well were what what's when where whether which while who whole why will
    with within without won't work worked working works would write writes written you you're your yourself zero""".split()
)
STOP = frozenset(
    """able add adjust adopt agreed all also always analyze and any apply are belong bring build bump but can check
    choose chose chosen clean cleanup configure consider convert cover create debug decide decided decision decrease
    delete deploy describe did disable drop e.g enable enhance ensure etc examine execute exist expand explain
    explore expose extend extract find fix for generate going had has help henceforth how i.e identify implement
    improve increase inline inspect install integrate introduce investigate its lean let lower make merge
    migrate modify move never new newest not noted now one open opted our per pick picked pin please port prefer
    prevent provide put raise ready recommend recommendation recommended reduce refactor remove rename reorganize
    replace reply resolve restructure revert review rewrite run say see settled setup simplify speed split stick
    submit successfully suggest summarize support switch takes tell the tidy today try two understand understood
    unify update upgrade use verify via was who why wire yesterday you""".split()
)  # verbs that only ask for something, and words that only lead to it
AFTER_NOUN = frozenset(
    "is are was were has have had does do did can cannot can't must should will not over for instead rather of in on".split()
)
SAYS_NOTHING = (COMMON | STOP) - KNOWN


def concepts_of(texts: Iterable[str], files: Iterable[str], title: str) -> tuple[str, ...]:
    """The tags of texts without code and notes, the most characteristic first."""
    weights: dict[str, float] = {}
    words: Counter[str] = Counter()
    for text in texts:
        head = URL.sub("", text) if "://" in text else text
        _weigh_names(head, weights)
        words.update(WORD.findall(head))
    for path in list(files)[:6]:
        stem = path.rsplit("/", 1)[-1].split(".", 1)[0]
        if len(stem) > 2 and not is_common(stem):
            weights[stem] = weights.get(stem, 0) + 2
    _weigh_words(words, title.lower(), weights)
    return _best(weights, title)


def is_common(word: str) -> bool:
    """Whether a word says nothing of this turn: a stop word, or a verb that only asks for something."""
    low = word.lower()
    return low in COMMON or low in STOP


def _weigh_names(text: str, weights: dict[str, float]) -> None:
    if "`" in text:
        for name in TICKED.findall(text):
            name = name.rsplit("/", 1)[-1]
            weights[name] = weights.get(name, 0) + 1.5
    for name in names_in(text):
        name = name.rsplit("/", 1)[-1]
        weights[name] = weights.get(name, 0) + 1


def _weigh_words(words: Counter[str], title: str, weights: dict[str, float]) -> None:
    """A known technology counts at once, another word if it recurs; one in capitals only if it is known."""
    counts: dict[str, int] = {}
    for word in words.keys() - SAYS_NOTHING:
        low = word.lower()
        if not word.isupper():
            counts[low] = counts.get(low, 0) + words[word]
        elif low in KNOWN:
            weights[word] = weights.get(word, 0) + 1 + min(words[word], 4) * 0.5
    for word, count in counts.items():
        if word in KNOWN:
            weights[word] = weights.get(word, 0) + 1.5 + min(count, 4) * 0.5
        elif count >= (2 if word in title else 3) and word not in SAYS_NOTHING:
            weights[word] = weights.get(word, 0) + min(count, 5) * 0.4 + (0.8 if word in title else 0)


def _after_verb(title: str) -> str:
    """A title without the verb that it begins with; what a verb or a preposition follows is none."""
    first, _, rest = title.partition(" ")
    begins = first.isalpha() and first.istitle() and first.lower() not in KNOWN
    return rest if begins and rest.count(" ") and rest.split(" ", 1)[0] not in AFTER_NOUN else title


def _best(weights: dict[str, float], title: str) -> tuple[str, ...]:
    low = title.lower()
    ranked = sorted(weights, key=lambda name: (-weights[name] - (1.5 if name.lower() in low else 0), name))
    chosen: dict[str, str] = {}
    for name in ranked:
        name = name.strip(".-:/@_()")
        key = name.lower().replace("_", "").replace("-", "")
        if len(name) >= 2 and not is_common(name) and key not in chosen and key.rstrip("s") not in chosen:
            chosen[key] = name
        if len(chosen) == MOST:
            break
    if len(chosen) < 2:
        for word in (spare.strip(".-") for spare in SPARE.findall(_after_verb(title))[:12]):
            if not is_common(word) and len(chosen) < 3:
                chosen.setdefault(word.lower(), word[:40])
    return tuple(chosen.values())[:MOST]
