/** The transport over JSON-RPC 2.0: one message per line. */

import { ConnectionLost, errorOf, forSession, RecollectError } from "./errors.js";
import type { LibraryChange, SessionEvent } from "./events.js";
import { asObject, decodeObject, encode, shorten } from "./json.js";
import type { LineConnection } from "./line-connection.js";
import type { JsonObject, Method } from "./operations.js";
import { EventRouter, type PendingTurn } from "./event-router.js";
import { checked, type LibraryMethod } from "./responses.js";
import type { ServerInfo } from "./types.js";
import { sessionOf, STREAM_CLOSED, type Answer, type Listener, type Request, type ToolResult, type Transport } from "./transport.js";

const HANDSHAKE_TIMEOUT_MS = 60_000; // a server that was just started on a busy machine needs several seconds
const MAX_MESSAGE_BYTES = 32 << 20; // the server's own limit; its error could not name the request
/** Our names for JSON-RPC's own errors, which have none. */
const PROTOCOL_ERRORS: ReadonlyMap<unknown, string> = new Map([
  [-32700, "PARSE_ERROR"],
  [-32600, "INVALID_REQUEST"],
  [-32601, "METHOD_NOT_FOUND"],
  [-32602, "INVALID_PARAMS"],
  [-32603, "INTERNAL_ERROR"],
]);

/** A request that has no response yet. `turn` is set if it runs a turn. */
interface PendingRequest {
  sessionId: string | undefined;
  turn: PendingTurn | undefined;
  resolve(result: unknown): void;
  reject(error: RecollectError): void;
}

/** Sends requests over a connection that carries one message per line. */
export class RpcTransport implements Transport {
  readonly #connection: LineConnection;
  readonly #pending = new Map<unknown, PendingRequest>();
  readonly #router = new EventRouter();
  #lastId = 0;
  #lost: ConnectionLost | undefined;
  readonly #token: string | undefined;

  /** `token` is needed if the server requires one. */
  constructor(connection: LineConnection, token?: string) {
    this.#connection = connection;
    this.#token = token;
    connection.listen(
      (line) => this.#receive(line),
      (reason) => this.#failPending(reason),
    );
  }

  async handshake(): Promise<ServerInfo> {
    const timeout = new ConnectionLost(`${this.#connection.name} did not answer within ${HANDSHAKE_TIMEOUT_MS / 1000} s`);
    const timer = setTimeout(() => this.#failPending(timeout), HANDSHAKE_TIMEOUT_MS);
    try {
      const server = asObject(await this.#request("initialize", { token: this.#token }));
      if (typeof server?.["realm_id"] === "string") return server as unknown as ServerInfo;
    } catch (error) {
      if (!(error instanceof RecollectError) || error.code !== "INVALID_REQUEST") throw error;
      throw errorOf("UNAUTHORIZED", error.message);
    } finally {
      clearTimeout(timer);
    }
    throw new ConnectionLost(`${this.#connection.name} is not a Recollect server`);
  }

  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#request(method, params) as Promise<Answer<M>>;
  }

  runTurn(params: Request<"turn/start">, listener: Listener, stopListening?: AbortSignal): Promise<Answer<"turn/start">> {
    return this.#request("turn/start", params, listener, stopListening) as Promise<Answer<"turn/start">>;
  }

  callTool(name: string, args: object): Promise<ToolResult> {
    return this.#request("tools/call", { name, arguments: args }) as Promise<ToolResult>;
  }

  async download(method: LibraryMethod, params: JsonObject, write: (piece: string) => Promise<void>): Promise<JsonObject> {
    const frame = checked(method, await this.#request(method, params)) as unknown as JsonObject;
    const { content, ...described } = frame["data"] as JsonObject;
    await write(String(content ?? ""));
    return { ...described, warnings: frame["warnings"] };
  }

  async *changes(): AsyncGenerator<LibraryChange, void, undefined> {
    throw new RecollectError("NOT_OFFERED", "Over JSON-RPC nothing tells what changes in the library. Use `Client.http`.");
  }

  async *events(): AsyncGenerator<SessionEvent, void, undefined> {
    throw new RecollectError(
      "NOT_OFFERED",
      "Over JSON-RPC only `stream` gives events, those of its own turn. Use `Client.http` for the events of all turns.",
    );
  }

  async close(): Promise<void> {
    this.#failPending(new ConnectionLost("the client was closed"));
    await this.#connection.close();
  }

  async #request(method: string, params: object, listener?: Listener, stopListening?: AbortSignal): Promise<unknown> {
    const sessionId = sessionOf(params);
    if (this.#lost !== undefined) throw forSession(this.#lost, sessionId);
    const id = ++this.#lastId;
    const line = encode({ jsonrpc: "2.0", id, method, params }) + "\n";
    if (Buffer.byteLength(line) > MAX_MESSAGE_BYTES) {
      throw errorOf("INVALID_PARAMS", `a message may have at most ${MAX_MESSAGE_BYTES >> 20} MB`, {}, sessionId);
    }
    return new Promise((resolve, reject) => {
      const isTurn = listener !== undefined && sessionId !== undefined;
      const turn = isTurn ? this.#router.add(sessionId, listener) : undefined;
      this.#pending.set(id, { sessionId, turn, resolve, reject });
      stopListening?.addEventListener("abort", () => reject(new ConnectionLost(STREAM_CLOSED, {}, sessionId)));
      this.#connection.send(line);
    });
  }

  #receive(line: string): void {
    if (line.trim() === "" || this.#lost !== undefined) return;
    const message = decodeObject(line);
    if (message === undefined || !hasValidError(message)) {
      // it may have been a response: its caller would wait for ever
      this.#failPending(new ConnectionLost(`${this.#connection.name} sent invalid JSON-RPC: ${shorten(line)}`));
      void this.#connection.close();
    } else if (message["method"] === "session/event") {
      const event = asObject(message["params"]);
      if (event !== undefined) this.#router.dispatch(event as unknown as SessionEvent);
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
      this.#router.finish(pending.sessionId, pending.turn, error?.code);
    }
    if (error === undefined) pending.resolve(message["result"]);
    else pending.reject(error);
  }

  #failPending(reason: ConnectionLost): void {
    const lost = (this.#lost ??= reason);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const request of pending) request.reject(forSession(lost, request.sessionId));
  }
}

/** An error has a code, a message and the id of a request. */
function hasValidError(message: JsonObject): boolean {
  const value = message["error"] ?? undefined;
  if (value === undefined) return true;
  const error = asObject(value);
  return typeof error?.["code"] === "number" && typeof error["message"] === "string" && typeof message["id"] === "number";
}

/** The error in a response. A response with neither a result nor an error is an error too. */
function errorIn(message: JsonObject, sessionId: string | undefined): RecollectError | undefined {
  const error = asObject(message["error"]);
  if (error === undefined) {
    return "result" in message ? undefined : errorOf("INTERNAL_ERROR", "the server sent a response without a result", {}, sessionId);
  }
  const data = asObject(error["data"]);
  const named = data?.["code"];
  const code = typeof named === "string" || typeof named === "number" ? named : PROTOCOL_ERRORS.get(error["code"]);
  return errorOf(code ?? String(error["code"]), String(error["message"]), asObject(data?.["details"]), sessionId);
}
