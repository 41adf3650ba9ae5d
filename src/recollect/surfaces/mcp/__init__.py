"""MCP, the Model Context Protocol: the protocol, its stdio transport, and sampling."""
