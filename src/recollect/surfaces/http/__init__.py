"""HTTP: REST, Server-Sent Events, MCP at `/mcp`, and the documents that describe them. Everything is derived from the table
of operations; only this package knows what a status or a header is.
"""
