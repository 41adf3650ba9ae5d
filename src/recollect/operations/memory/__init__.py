"""The memory family: search, get_observations, read, record_observation; each costs more tokens than the one before.

Answers are Markdown (or JSON where requested), errors are text in the contract's own words.
"""

from functools import partial

from recollect.operations.memory.envelope import ENVELOPE
from recollect.operations.memory.observations import get_observations
from recollect.operations.memory.read import read
from recollect.operations.memory.record import record_observation
from recollect.operations.memory.requests import GetObservations, Read, RecordObservation, Search
from recollect.operations.memory.search import search
from recollect.operations.operation import Family, Operation
from recollect.operations.prompts import SEARCH_CONVERSATION

_operation = partial(Operation, envelope=ENVELOPE)

FAMILY = Family(
    operations=(
        _operation(
            name="search",
            title="Search what was learnt (layer 1 of 3)",
            request=Search,
            handle=search,
        ),
        _operation(
            name="get_observations",
            title="Open observations (layer 2 of 3)",
            request=GetObservations,
            handle=get_observations,
        ),
        _operation(
            name="read",
            title="Read a conversation (layer 3 of 3)",
            request=Read,
            handle=read,
        ),
        _operation(
            name="record_observation",
            title="Remember an insight",
            request=RecordObservation,
            handle=record_observation,
            writes=True,
        ),
    ),
    guide="For what was learnt (decisions and reasons, causes and fixes): search, then get_observations, then read; each "
    "costs more than the one before. record_observation keeps an insight of yours.",
    prompts=(SEARCH_CONVERSATION,),
)
