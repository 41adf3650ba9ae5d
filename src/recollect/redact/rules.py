"""All redaction rules, with their patterns."""

from recollect.redact.files import EXAMPLES as FILE_EXAMPLES
from recollect.redact.files import FILE_LITERALS
from recollect.redact.forms import EXAMPLES as FORM_EXAMPLES
from recollect.redact.forms import FORM_LITERALS, FORMS, find_login_passwords, find_url_passwords
from recollect.redact.literals import Literals
from recollect.redact.named_services import NAMED_SERVICES
from recollect.redact.names import NAME_LITERALS
from recollect.redact.services import ENDING_SERVICES, SERVICES
from recollect.redact.tokens import TOKENS, find_long_tokens

TABLES = SERVICES, ENDING_SERVICES, FORMS, NAMED_SERVICES
OTHER_RULES = {"assigned-secret", "basic-auth", *(rule for rule, _ in (*FILE_EXAMPLES, *FORM_EXAMPLES))}
RULES = sorted(OTHER_RULES | {row.name for table in TABLES for row in table})
LITERALS = Literals([*TOKENS, *FORM_LITERALS, *FILE_LITERALS, *NAME_LITERALS])
# Scans for secrets without a literal, with their ranks
SCANS = (0, find_long_tokens), (1, find_url_passwords), (1, find_login_passwords)
