"""Recollect: the history and memory of AI agents.

The path of the data: `sources` read agents' logs into records, and `assemble` folds them into Session > Turn > Event.
`store` stores them, `index` indexes them, and `search` finds them. `operations` are the requests that callers can send.
`surfaces` offer the operations over MCP, REST, JSON-RPC, hooks and the command line.
"""

import sys

__version__ = "0.3.0"
SELF_COMMAND = (sys.executable, "-P", "-m", "recollect")  # this program as a command; -P: no modules of the working folder
