"""Recollect: the history and memory of AI agents.

The data's path: `sources` read agent logs into records, `assemble` folds them into Session > Turn > Event, `store`
keeps them, `index` makes them findable, `search` finds them, `operations` are everything one can ask, and `surfaces`
speak them: MCP and the command line.
"""

import sys

__version__ = "0.2.0"
OURS = (sys.executable, "-P", "-m", "recollect")  # ourselves as a process; -P: the folder we stand in may be anybody's
