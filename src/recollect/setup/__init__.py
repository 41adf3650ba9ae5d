"""Connects the agents of this machine to Recollect: their MCP servers, hooks, skills, commands and sub-agents.

`agents` declares where each agent keeps these. `plan` reads the files and edits them in memory (`editing`), `apply` writes
them with a backup and a journal, `undo` reverses that, and `check` asks the agents whether they connect.
"""

from recollect.setup.agent import Agent
from recollect.setup.agents import AGENTS
from recollect.setup.apply import Applied, apply_setup
from recollect.setup.check import Checked, check_all
from recollect.setup.journal import USER, Journal, JournalFolder
from recollect.setup.places import Surroundings
from recollect.setup.plan import FilePlan, SetupPlan, SetupProblem, make_plan
from recollect.setup.program import ProgramCommand, this_program
from recollect.setup.undo import UndoneFile, plan_undo, undo_setup

__all__ = [
    "AGENTS",
    "USER",
    "Agent",
    "Applied",
    "Checked",
    "FilePlan",
    "Journal",
    "JournalFolder",
    "ProgramCommand",
    "SetupPlan",
    "SetupProblem",
    "Surroundings",
    "UndoneFile",
    "apply_setup",
    "check_all",
    "make_plan",
    "plan_undo",
    "this_program",
    "undo_setup",
]
