"""What every surface shares: threads, lines, queues, JSON and error codes."""
