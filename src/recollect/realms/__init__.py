"""Step 7, OPEN: realms. A realm is one folder with a manifest, a config, an archive and its indexes.

Everything is read and written in one realm; realms share nothing.
"""

from recollect.realms.index_state import WARNINGS, IndexCondition
from recollect.realms.names import DEFAULT
from recollect.realms.realm import Realm

__all__ = ["DEFAULT", "WARNINGS", "IndexCondition", "Realm"]
