"""All rules of redaction together, with their patterns."""

from recollect.redact._files import EXAMPLES as FILE_EXAMPLES
from recollect.redact._files import FILE_LITERALS
from recollect.redact._forms import EXAMPLES as FORM_EXAMPLES
from recollect.redact._forms import FORM_LITERALS, FORMS, addresses, logins
from recollect.redact._literals import Literals
from recollect.redact._named_services import NAMED_SERVICES
from recollect.redact._names import NAME_LITERALS
from recollect.redact._services import ENDING_SERVICES, SERVICES
from recollect.redact._tokens import TOKENS, long_tokens

TABLES = SERVICES, ENDING_SERVICES, FORMS, NAMED_SERVICES
OTHER_RULES = {"assigned-secret", "basic-auth", *(rule for rule, _ in (*FILE_EXAMPLES, *FORM_EXAMPLES))}
RULES = sorted(OTHER_RULES | {row.name for table in TABLES for row in table})
LITERALS = Literals([*TOKENS, *FORM_LITERALS, *FILE_LITERALS, *NAME_LITERALS])
SCANS = (0, long_tokens), (1, addresses), (1, logins)  # what has no literal, with its rank
