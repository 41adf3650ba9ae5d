"""HTTP: REST, Server-Sent Events, MCP at `/mcp`, and the documents that describe them.

Routes are derived from the table of operations. Only this package knows statuses and headers.
"""
