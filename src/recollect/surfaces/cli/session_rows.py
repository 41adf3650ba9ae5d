"""Sessions as aligned rows: for a terminal of any width, and with tabs between the cells for a pipe."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from recollect.display import one_line
from recollect.shown_amounts import UNKNOWN, cost_text, model_text, tokens_text
from recollect.surfaces.cli.local_times import local_day, local_minute
from recollect.surfaces.cli.short_forms import Shorten

Session = Mapping[str, Any]  # as the library answers

TITLE = 24  # columns that a title gets before other cells are cut
WIDE = 100  # columns of a terminal from which rows have a cost, whole names, and two blanks between cells
STATE_STYLES = {"working": "bold green", "waiting": "yellow", "idle": "cyan", "ended": "dim", "died": "red"}
SUB_AGENT = "↳ "  # before the title of a session that another one has started


class Column(Struct, frozen=True):
    """One property of sessions. `least` and `most` are its widths; a title takes what the others leave."""

    name: str
    text: Callable[[Session], str]
    style: str = ""
    least: int = 4
    most: int = 12
    is_number: bool = False


def _short_agent(session: Session) -> str:
    """An agent's name without what many names end with."""
    return str(session["agent"]).removesuffix("-code").removesuffix("-cli")


def _model(session: Session) -> str:
    return model_text(session["models"][0]) if session["models"] else UNKNOWN


def _models(session: Session) -> str:
    """The first model, and the number of the others."""
    others = len(session["models"]) - 1
    return f"{_model(session)} +{others}" if others > 0 else _model(session)


def _tokens(session: Session) -> str:
    total = session["tokens"]["total"]
    return tokens_text(total) if total else UNKNOWN


def _cost(session: Session) -> str:
    return cost_text(session["cost"]["usd"], session["cost"]["source"])


def _title(session: Session) -> str:
    labels = "".join(f" [{name}]" for name in session["labels"])
    return f"{SUB_AGENT if session['parent'] else ''}{session['title']}{labels}"


SHORT_AGENT = Column("agent", _short_agent, "cyan", least=6, most=14)
AGENT = Column("agent", lambda session: session["agent"], "cyan", least=8, most=14)
PROJECT = Column("project", lambda session: session["project"] or UNKNOWN, "magenta", least=8, most=18)
TITLE_COLUMN = Column("title", _title, "bold", least=TITLE, most=1_000)
MODEL = Column("model", _model, "dim", least=8, most=14)
MODELS = Column("models", _models, "dim", least=8, most=18)
TOKENS = Column("tokens", _tokens, is_number=True, most=6)
COST = Column("cost", _cost, "dim", is_number=True, most=8)
STATE = Column("state", lambda session: session["state"], most=7)
NARROW = (SHORT_AGENT, PROJECT, TITLE_COLUMN, MODEL, TOKENS, STATE)
BROAD = (AGENT, PROJECT, TITLE_COLUMN, MODELS, TOKENS, COST, STATE)
FLEXIBLE = (SHORT_AGENT, AGENT, PROJECT, MODEL, MODELS)  # columns that are cut if the title has too little


class SessionRows:
    """Draws sessions as rows whose columns fit a width together."""

    def __init__(self, sessions: Sequence[Session], width: int, shorten: Shorten, when: Callable[[Session], str]) -> None:
        """`when`: the time of a session as the rows show it. The widths suit these sessions; others may be cut."""
        self._shorten = shorten
        when_column = Column("when", when, "dim", is_number=True)
        columns, self._gap = (BROAD, "  ") if width >= WIDE else (NARROW, " ")
        self._columns = (Column("id", self._id, "blue"), when_column, *columns)
        self._widths = _fitted(self._columns, sessions, width - len(self._gap) * (len(self._columns) - 1))

    def row(self, session: Session) -> Text:
        row = Text(no_wrap=True, end="")
        for column, width in zip(self._columns, self._widths, strict=True):
            style = STATE_STYLES.get(session["state"], "") if column is STATE else column.style
            cell = cut(one_line(column.text(session)), width)
            space = " " * (width - cell_len(cell))
            if row:
                row.append(self._gap)
            row.append(space + cell if column.is_number else cell + space, style)
        row.rstrip()
        return row

    def _id(self, session: Session) -> str:
        return self._shorten(session["id"])


def _fitted(columns: Sequence[Column], sessions: Sequence[Session], width: int) -> list[int]:
    """The widths of columns: what their texts need, but less of the widest if the title has too little."""
    widths = [
        max([min(column.most, cell_len(one_line(column.text(session)))) for session in sessions], default=column.least)
        for column in columns
    ]
    title = columns.index(TITLE_COLUMN)
    flexible = [place for place, column in enumerate(columns) if column in FLEXIBLE]
    while width - (sum(widths) - widths[title]) < TITLE:
        widest = max(flexible, key=lambda place: widths[place] - columns[place].least)
        if widths[widest] <= columns[widest].least:
            break
        widths[widest] -= 1
    widths[title] = max(8, width - (sum(widths) - widths[title]))
    return widths


def session_line(session: Session, width: int, shorten: Shorten) -> Text:
    """What a row has beside the title, with whole texts if the width allows."""
    is_wide = width >= WIDE
    when = (local_minute if is_wide else local_day)(session["updated_at"], estimated=session["estimated_time"])
    line = Text.assemble((shorten(session["id"]), "blue"), (f"  {when}", "dim"), no_wrap=True)
    for column in BROAD:
        text = one_line(column.text(session))
        if column == TITLE_COLUMN or (column == COST and text == UNKNOWN):
            continue
        unit = " tokens" if column == TOKENS and text != UNKNOWN else ""
        style = STATE_STYLES.get(text, "") if column == STATE else column.style
        line.append("  ").append(f"{text if is_wide else cut(text, column.most)}{unit}", style)
    return line


def cut(text: str, width: int) -> str:
    """The text in at most this many columns of a terminal, with an ellipsis if it is longer."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…" if width > 1 else text[:width]


def tab_row(session: Session, shorten: Shorten) -> str:
    """A session as cells with tabs between them: whole texts, plain numbers, for other programs."""
    tokens, usd = session["tokens"]["total"], session["cost"]["usd"]
    cells = (
        shorten(session["id"]),
        local_minute(session["updated_at"], estimated=session["estimated_time"]),
        session["agent"],
        session["project"] or "",
        session["title"],
        ",".join(session["models"]),
        str(tokens) if tokens else "",
        f"{usd:.4f}" if usd is not None else "",
        session["state"],
    )
    return "\t".join(map(one_line, cells))
