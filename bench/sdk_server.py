"""A peer of our MCP over HTTP: the official SDK's server, which calls our search, on a free port.

    python bench/sdk_server.py

Prints its URL. Only the implementation of the protocol differs from ours; the operation is the same.
"""

import asyncio
import json
import os
import socket
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.settings import read_settings

SEARCH = OPERATIONS["search_sessions"]
realm = LiveRealm(read_settings(os.environ))


async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name=SEARCH.name, input_schema=SEARCH.input_schema)])


async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
    reply = await asyncio.to_thread(SEARCH.run, realm, params.arguments, RequestContext.now())
    content = json.loads(reply.structured or b"{}")
    return CallToolResult(content=[TextContent(text=reply.text)], structured_content=content, is_error=reply.is_error)


def main() -> None:
    app = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app(
        json_response=True, stateless_http=True
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
