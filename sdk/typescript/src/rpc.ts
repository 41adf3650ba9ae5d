/** JSON-RPC 2.0, one message a line. */

import { ConnectionLost, errorOf, type RecollectError } from "./errors.js";
import type { SessionEvent } from "./events.js";
import type { Lines } from "./lines.js";
import type { JsonObject, Method } from "./operations.js";
import type { Answer, Listener, Request, ToolResult, Wire } from "./wire.js";

/** What errors are called that the protocol has numbers for, and no more. */
const PROTOCOL_ERRORS: Readonly<Record<number, string>> = {
  [-32700]: "PARSE_ERROR",
  [-32600]: "INVALID_REQUEST",
  [-32601]: "METHOD_NOT_FOUND",
  [-32602]: "INVALID_PARAMS",
  [-32603]: "INTERNAL_ERROR",
};

/** What a server tells of itself. */
export interface ServerInfo {
  name: string;
  version: string;
  /** The realm it works in; a fresh one where none was asked for. */
  realm_id: string;
  instance_id: string;
  backend: string;
  /** Every method that it knows. */
  methods: string[];
}

interface RpcError {
  code: number;
  message: string;
  data?: { code?: string | number; details?: JsonObject };
}

interface Message {
  id?: number | null;
  method?: string;
  params?: SessionEvent;
  result?: unknown;
  error?: RpcError;
}

interface Pending {
  sessionId: string | undefined;
  resolve(result: unknown): void;
  reject(error: RecollectError): void;
}

export class RpcWire implements Wire {
  readonly #lines: Lines;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Listener[]>();
  #last = 0;
  #lost: ConnectionLost | undefined;

  constructor(lines: Lines) {
    this.#lines = lines;
    lines.listen(
      (line) => this.#take(line),
      (reason) => this.#end(reason),
    );
  }

  /** Make sure that there is a server, and one that lets us in; what it tells of itself. */
  initialize(token?: string): Promise<ServerInfo> {
    return this.#request("initialize", { token }) as Promise<ServerInfo>;
  }

  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#request(method, params) as Promise<Answer<M>>;
  }

  async turn(params: Request<"turn/start">, listener: Listener): Promise<Answer<"turn/start">> {
    const sessionId = bare(params.session_id);
    const waiting = this.#listeners.get(sessionId) ?? [];
    this.#listeners.set(sessionId, [...waiting, listener]);
    try {
      return await this.call("turn/start", params);
    } finally {
      const others = (this.#listeners.get(sessionId) ?? []).filter((other) => other !== listener);
      if (others.length > 0) this.#listeners.set(sessionId, others);
      else this.#listeners.delete(sessionId);
    }
  }

  tool(name: string, given: object): Promise<ToolResult> {
    return this.#request("tools/call", { name, arguments: given }) as Promise<ToolResult>;
  }

  async close(): Promise<void> {
    this.#lost ??= new ConnectionLost("the client was closed");
    await this.#lines.close();
    this.#end(this.#lost);
  }

  #request(method: string, params: object): Promise<unknown> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const id = ++this.#last;
    const named: unknown = (params as JsonObject)["session_id"];
    const answered = new Promise((resolve, reject) => {
      const sessionId = typeof named === "string" ? bare(named) : undefined;
      this.#pending.set(id, { sessionId, resolve, reject });
    });
    this.#lines.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return answered;
  }

  #take(line: string): void {
    const message = JSON.parse(line) as Message;
    if (message.method === "session/event" && message.params !== undefined) {
      // one turn of a session runs at a time: whoever asked later will hear that it is busy
      this.#listeners.get(message.params.session_id)?.[0]?.(message.params);
      return;
    }
    const pending = typeof message.id === "number" ? this.#pending.get(message.id) : undefined;
    if (pending === undefined || typeof message.id !== "number") return;
    this.#pending.delete(message.id);
    if (message.error === undefined) pending.resolve(message.result);
    else pending.reject(rpcError(message.error, pending.sessionId));
  }

  #end(reason: ConnectionLost): void {
    this.#lost ??= reason;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of pending) one.reject(this.#lost);
  }
}

/** A session's id, also of `<realm>:<id>`: events name it so. */
function bare(locator: string): string {
  return locator.slice(locator.lastIndexOf(":") + 1).toLowerCase();
}

function rpcError({ code, message, data }: RpcError, sessionId: string | undefined): RecollectError {
  const name = typeof data?.code === "string" ? data.code : PROTOCOL_ERRORS[code] ?? String(code);
  const details = typeof data?.code === "number" ? { ...data.details, status: data.code } : data?.details;
  return errorOf(name, message, details, sessionId);
}
