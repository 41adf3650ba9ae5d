"""What a command imports before it does anything: what is not needed makes every start slower."""

import subprocess
import sys

import pytest

HEAVY = {"recollect.sources", "recollect.ingest", "recollect.language_model", "recollect.export.documents", "ssl", "asyncio"}


@pytest.mark.process
def test_the_table_of_operations_imports_nothing_that_reads_logs_or_writes_documents() -> None:
    code = f"import sys; import recollect.operations; print(*({HEAVY!r} & sys.modules.keys()))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.split() == []
