"""Step 7, LIVE: realms. A realm is a store: one folder with its manifest, its config, its archive and its indexes.

Everything is read and written in one, and nothing crosses from one to another.
"""

from recollect.realms.index_condition import WARNINGS, IndexCondition
from recollect.realms.names import DEFAULT
from recollect.realms.realm import Realm

__all__ = ["DEFAULT", "WARNINGS", "IndexCondition", "Realm"]
