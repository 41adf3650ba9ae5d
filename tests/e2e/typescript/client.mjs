// The second generation of the official client: node client.mjs MODE CALLS COMMAND... or node client.mjs MODE CALLS URL
// MODE is how the revision is agreed on: legacy (a handshake), auto (ask first), or a revision without any asking.
import { Client, StreamableHTTPClientTransport as Http } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/client/stdio";
import { talk } from "./talk.mjs";

const [mode, calls, ...server] = process.argv.slice(2);
const versionNegotiation = { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } };
const client = new Client({ name: "client", version: "2" }, { versionNegotiation });
await talk(client, { Stdio, Http }, JSON.parse(calls), server);
