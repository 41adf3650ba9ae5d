"""`recollect hook`: what agents with hooks call."""
