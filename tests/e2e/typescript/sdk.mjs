// The first generation of the official client: node sdk.mjs CALLS COMMAND...
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { talk } from "./talk.mjs";

const [calls, ...server] = process.argv.slice(2);
await talk(new Client({ name: "sdk", version: "1" }), StdioClientTransport, JSON.parse(calls), server);
