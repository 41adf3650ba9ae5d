// The first generation of the official client: node sdk.mjs CALLS COMMAND... or node sdk.mjs CALLS URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { talk } from "./talk.mjs";

const [calls, ...server] = process.argv.slice(2);
await talk(new Client({ name: "sdk", version: "1" }), { Stdio, Http }, JSON.parse(calls), server);
