/** JSON-RPC 2.0, one message a line. */

import { ConnectionLost, errorOf, lostFor, RecollectError } from "./errors.js";
import type { SessionEvent } from "./events.js";
import { asObject, encoded, objectOf, shown } from "./json.js";
import type { Lines } from "./lines.js";
import type { JsonObject, Method } from "./operations.js";
import { Turns, type AskedTurn } from "./turns.js";
import type { ServerInfo } from "./types.js";
import { sessionOf, UNHEARD, type Answer, type Listener, type Request, type ToolResult, type Wire } from "./wire.js";

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

  readonly #token: string | undefined;

  /** `token` is what the server wants, where it wants one. */
  constructor(lines: Lines, token?: string) {
    this.#lines = lines;
    this.#token = token;
    lines.listen(
      (line) => this.#take(line),
      (reason) => this.#end(reason),
    );
  }

  async greet(): Promise<ServerInfo> {
    const late = new ConnectionLost(`${this.#lines.name} has not answered within ${GREETED_WITHIN_MS / 1000} s`);
    const patience = setTimeout(() => this.#end(late), GREETED_WITHIN_MS);
    try {
      const told = asObject(await this.#request("initialize", { token: this.#token }));
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

  turn(params: Request<"turn/start">, listener: Listener, letGo?: AbortSignal): Promise<Answer<"turn/start">> {
    return this.#request("turn/start", params, listener, letGo) as Promise<Answer<"turn/start">>;
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

  async #request(method: string, params: object, listener?: Listener, letGo?: AbortSignal): Promise<unknown> {
    const sessionId = sessionOf(params);
    if (this.#lost !== undefined) throw lostFor(sessionId, this.#lost);
    const id = ++this.#last;
    const line = encoded({ jsonrpc: "2.0", id, method, params }) + "\n";
    if (Buffer.byteLength(line) > LONGEST) {
      throw errorOf("INVALID_PARAMS", `a message may have at most ${LONGEST >> 20} MB`, {}, sessionId);
    }
    return new Promise((resolve, reject) => {
      const isTurn = listener !== undefined && sessionId !== undefined;
      const turn = isTurn ? this.#turns.ask(sessionId, listener) : undefined;
      this.#pending.set(id, { sessionId, turn, resolve, reject });
      letGo?.addEventListener("abort", () => reject(new ConnectionLost(UNHEARD, {}, sessionId)));
      this.#lines.send(line);
    });
  }

  #take(line: string): void {
    if (line.trim() === "" || this.#lost !== undefined) return;
    const message = objectOf(line);
    if (message === undefined || !hasWholeError(message)) {
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
    const error = errorIn(message, pending.sessionId);
    if (pending.turn !== undefined && pending.sessionId !== undefined) {
      this.#turns.answer(pending.sessionId, pending.turn, error?.code);
    }
    if (error === undefined) pending.resolve(message["result"]);
    else pending.reject(error);
  }

  #end(reason: ConnectionLost): void {
    const lost = (this.#lost ??= reason);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of pending) one.reject(lostFor(one.sessionId, lost));
  }
}

/** An error has a number and words, and is an answer to somebody. */
function hasWholeError(message: JsonObject): boolean {
  const told = message["error"] ?? undefined;
  if (told === undefined) return true;
  const error = asObject(told);
  return typeof error?.["code"] === "number" && typeof error["message"] === "string" && typeof message["id"] === "number";
}

/** The error that an answer is; one that says nothing at all is one too. */
function errorIn(message: JsonObject, sessionId: string | undefined): RecollectError | undefined {
  const error = asObject(message["error"]);
  if (error === undefined) {
    return "result" in message ? undefined : errorOf("INTERNAL_ERROR", "the server answered without a result", {}, sessionId);
  }
  const data = asObject(error["data"]);
  const named = data?.["code"];
  const code = typeof named === "string" || typeof named === "number" ? named : PROTOCOL_ERRORS.get(error["code"]);
  return errorOf(code ?? String(error["code"]), String(error["message"]), asObject(data?.["details"]), sessionId);
}
