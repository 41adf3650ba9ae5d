"""MCP, the Model Context Protocol: the server, its stdio transport, and sampling."""
