/** JSON-RPC 2.0, one message a line. */

import { ConnectionLost, errorOf, RecollectError } from "./errors.js";
import type { SessionEvent } from "./events.js";
import { asObject, encoded, objectOf, shown } from "./json.js";
import type { Lines } from "./lines.js";
import type { JsonObject, Method } from "./operations.js";
import { Turns, type AskedTurn } from "./turns.js";
import { sessionOf, type Answer, type Listener, type Request, type ToolResult, type Wire } from "./wire.js";

const GREETED_WITHIN_MS = 60_000; // a server that has only just been started, on a busy machine, takes seconds
const LONGEST = 32 << 20; // bytes of one message: a server takes no more, and could not say whose it was
/** What errors are called that the protocol has numbers for, and no more. */
const PROTOCOL_ERRORS: ReadonlyMap<unknown, string> = new Map([
  [-32700, "PARSE_ERROR"],
  [-32600, "INVALID_REQUEST"],
  [-32601, "METHOD_NOT_FOUND"],
  [-32602, "INVALID_PARAMS"],
  [-32603, "INTERNAL_ERROR"],
]);

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

interface Pending {
  sessionId: string | undefined;
  turn: AskedTurn | undefined;
  resolve(result: unknown): void;
  reject(error: RecollectError): void;
}

export class RpcWire implements Wire {
  readonly #lines: Lines;
  readonly #pending = new Map<unknown, Pending>();
  readonly #turns = new Turns();
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
  async initialize(token?: string): Promise<ServerInfo> {
    const late = new ConnectionLost(`${this.#lines.name} has not answered within ${GREETED_WITHIN_MS / 1000} s`);
    const patience = setTimeout(() => this.#end(late), GREETED_WITHIN_MS);
    try {
      const told = asObject(await this.#request("initialize", { token }));
      if (typeof told?.["realm_id"] === "string") return told as unknown as ServerInfo;
    } catch (error) {
      if (!(error instanceof RecollectError) || error.code !== "INVALID_REQUEST") throw error;
      throw errorOf("UNAUTHORIZED", error.message);
    } finally {
      clearTimeout(patience);
    }
    throw new ConnectionLost(`${this.#lines.name} is no server of Recollect`);
  }

  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#request(method, params) as Promise<Answer<M>>;
  }

  turn(params: Request<"turn/start">, listener: Listener): Promise<Answer<"turn/start">> {
    return this.#request("turn/start", params, listener) as Promise<Answer<"turn/start">>;
  }

  tool(name: string, given: object): Promise<ToolResult> {
    return this.#request("tools/call", { name, arguments: given }) as Promise<ToolResult>;
  }

  async *events(): AsyncGenerator<SessionEvent, void, undefined> {
    throw new RecollectError(
      "NOT_OFFERED",
      "JSON-RPC tells only of turns that were asked for here, by `stream`; use `Client.http` to hear of all others",
    );
  }

  async close(): Promise<void> {
    this.#end(new ConnectionLost("the client was closed"));
    await this.#lines.close();
  }

  async #request(method: string, params: object, listener?: Listener): Promise<unknown> {
    if (this.#lost !== undefined) throw this.#lost;
    const id = ++this.#last;
    const line = encoded({ jsonrpc: "2.0", id, method, params }) + "\n";
    const sessionId = sessionOf(params);
    if (Buffer.byteLength(line) > LONGEST) {
      throw errorOf("INVALID_PARAMS", `a message may have at most ${LONGEST >> 20} MB`, {}, sessionId);
    }
    return new Promise((resolve, reject) => {
      const isTurn = listener !== undefined && sessionId !== undefined;
      const turn = isTurn ? this.#turns.ask(sessionId, listener) : undefined;
      this.#pending.set(id, { sessionId, turn, resolve, reject });
      this.#lines.send(line);
    });
  }

  #take(line: string): void {
    if (line.trim() === "" || this.#lost !== undefined) return;
    const message = objectOf(line);
    if (message === undefined || (message["id"] === null && "error" in message)) {
      // an answer may be lost in it, and somebody would wait for ever
      this.#end(new ConnectionLost(`${this.#lines.name} said what is no JSON-RPC: ${shown(line)}`));
      void this.#lines.close();
    } else if (message["method"] === "session/event") {
      const event = asObject(message["params"]);
      if (event !== undefined) this.#turns.tell(event as unknown as SessionEvent);
    } else {
      this.#settle(message);
    }
  }

  #settle(message: JsonObject): void {
    const pending = this.#pending.get(message["id"]);
    if (pending === undefined) return;
    this.#pending.delete(message["id"]);
    const error = "error" in message ? rpcError(asObject(message["error"]), pending.sessionId) : undefined;
    if (pending.turn !== undefined && pending.sessionId !== undefined) {
      this.#turns.answer(pending.sessionId, pending.turn, error?.code);
    }
    if (error === undefined) pending.resolve(message["result"]);
    else pending.reject(error);
  }

  #end(reason: ConnectionLost): void {
    this.#lost ??= reason;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of pending) one.reject(this.#lost);
  }
}

function rpcError(error: JsonObject | undefined, sessionId: string | undefined): RecollectError {
  const data = asObject(error?.["data"]);
  const named = data?.["code"];
  const code = typeof named === "string" || typeof named === "number" ? named : PROTOCOL_ERRORS.get(error?.["code"]);
  return errorOf(code ?? String(error?.["code"]), String(error?.["message"]), asObject(data?.["details"]), sessionId);
}
