/** The transport over HTTP: every method has a route, and turns stream their events as Server-Sent Events. */

import { ConnectionLost, errorOf, forSession, SessionNotFound, type RecollectError } from "./errors.js";
import type { LibraryChange, SessionEvent } from "./events.js";
import { HttpRequest, type RequestInfo } from "./http-request.js";
import { asObject, decodeObject, encode, shorten } from "./json.js";
import type { StreamOptions } from "./library.js";
import { describeDocument } from "./library-frame.js";
import { ROUTES, type JsonObject, type Method } from "./operations.js";
import type { LibraryMethod } from "./responses.js";
import type { SseMessage } from "./sse.js";
import type { ServerInfo } from "./types.js";
import { findToken } from "./token.js";
import { sessionOf, STREAM_CLOSED } from "./transport.js";
import type { Answer, EventsOptions, Listener, Request, ToolResult, Transport } from "./transport.js";

/** The address of a running server. */
export interface HttpOptions {
  /** Such as `http://127.0.0.1:7377`. */
  url: string | URL;
  /** The server's token. The token of a server on this machine is found automatically. */
  token?: string;
  /**
   * If the server sends nothing for this long, the connection counts as lost. During a turn it sends something every 15 s.
   * Default: 60 000.
   */
  silenceMs?: number;
}

const SILENCE_MS = 60_000; // while a turn runs, a server sends at least a comment every 15 seconds
/** Before each new attempt to get events. A server restarts in less than their sum. */
const RETRY_PAUSES_MS = [100, 200, 400, 800, 1_600, 3_200];
const SSE = "text/event-stream";
const JSON_TYPE = "application/json";
const QUERY_METHODS = ["GET", "DELETE"];
const HEALTH_ROUTE = "GET /health";
const CHANGES_ROUTE = "GET /library/stream";
const EVENTS_ROUTE = "GET /sessions/{session_id}/events";
const TOOL_ROUTE = "POST /v1/tools/{name}";
const INVALID_TEXT = /^\.{0,2}$/; // these would lead to another path, even if escaped
const INVALID_SEGMENT = /^\.{0,2}$|\//; // so would a slash, except in an id that an agent gave to its session

/** A stream of events, and where it goes on if it has to connect again. */
interface Stream {
  route: string;
  params: JsonObject;
  lastEventId: string | undefined;
}

/** Sends requests over HTTP. */
export class HttpTransport implements Transport {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #silenceMs: number;
  readonly #running = new Set<HttpRequest>();
  readonly #pausing = new Set<() => void>();
  #lost: ConnectionLost | undefined;

  constructor({ url, token, silenceMs = SILENCE_MS }: HttpOptions) {
    const { protocol, origin, hostname, port, pathname, search, hash } = new URL(url);
    if (!["http:", "https:"].includes(protocol) || search || hash) {
      throw new TypeError(`${url} is not an address such as http://127.0.0.1:7377`);
    }
    this.#base = origin + pathname.replace(/\/+$/, "");
    const knownToken = token ?? findToken(hostname, Number(port || (protocol === "https:" ? 443 : 80)));
    if (knownToken && !/^[\x21-\x7e]+$/.test(knownToken)) throw new TypeError("a token must be printable ASCII");
    this.#headers = knownToken ? { authorization: `Bearer ${knownToken}` } : {};
    this.#silenceMs = silenceMs;
  }

  async handshake(): Promise<ServerInfo> {
    const request = this.#newRequest(this.#encodeRequest(HEALTH_ROUTE, {}, JSON_TYPE));
    await request.send();
    const server = decodeObject(await request.text());
    if (typeof server?.["realm_id"] !== "string") throw new ConnectionLost(`${this.#base} is not a Recollect server`);
    return { name: "recollect", ...server, methods: Object.keys(ROUTES).sort() } as ServerInfo;
  }

  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#call(method, params, () => {});
  }

  runTurn(params: Request<"turn/start">, listener: Listener, stopListening?: AbortSignal): Promise<Answer<"turn/start">> {
    return this.#call("turn/start", params, listener, stopListening);
  }

  async callTool(name: string, args: object): Promise<ToolResult> {
    const info = { ...this.#encodeRequest(TOOL_ROUTE, { name }, JSON_TYPE), body: encode(args) };
    const request = this.#newRequest(info, 0); // a tool may run a long turn, which sends nothing until its end
    const { status } = await request.send();
    const text = await request.text();
    const result = decodeObject(text);
    if (Array.isArray(result?.["content"])) return result as unknown as ToolResult;
    if (result?.["code"] === "NOT_FOUND") throw errorOf("INVALID_PARAMS", `Unknown tool: ${name}`);
    throw decodeError(status, text, undefined);
  }

  async *events(sessionId: string, { after, signal }: EventsOptions): AsyncGenerator<SessionEvent, void, undefined> {
    const stream = { route: EVENTS_ROUTE, params: { session_id: sessionId }, lastEventId: after?.toString() };
    let last = after;
    for await (const { data } of this.#follow(stream, signal)) {
      const event = decode(data) as unknown as SessionEvent;
      last = sequenceAfter(event, last);
      stream.lastEventId = last?.toString();
      yield event;
    }
  }

  async *changes({ after, signal }: StreamOptions): AsyncGenerator<LibraryChange, void, undefined> {
    if (after !== undefined && !/^[\x20-\x7e]+$/.test(after)) {
      throw errorOf("INVALID_PARAMS", `after must be the position of a change, not ${encode(after)}`);
    }
    const stream = { route: CHANGES_ROUTE, params: {}, lastEventId: after };
    let hasBegun = false;
    for await (const { data, id } of this.#follow(stream, signal)) {
      const change = decode(data) as unknown as LibraryChange;
      stream.lastEventId = id ?? stream.lastEventId;
      if (change.type === "ready" && hasBegun) continue; // the stream was connected again
      hasBegun = true;
      yield id === undefined ? change : { ...change, position: id };
    }
  }

  async download(method: LibraryMethod, params: JsonObject, write: (piece: string) => Promise<void>): Promise<JsonObject> {
    const request = this.#newRequest(this.#encodeRequest(ROUTES[method], params, "*/*"));
    const { status, headers } = await request.send();
    if (status !== 200) throw decodeError(status, await request.text(), undefined);
    for await (const piece of request.pieces()) await write(piece);
    return describeDocument(headers, params["format"]);
  }

  async close(): Promise<void> {
    this.#lost ??= new ConnectionLost("the client was closed");
    for (const request of [...this.#running]) request.stop(this.#lost);
    for (const wake of [...this.#pausing]) wake();
  }

  // ---- sending

  async #call<M extends Method>(
    method: M,
    params: Request<M>,
    listener: Listener,
    stopListening?: AbortSignal,
  ): Promise<Answer<M>> {
    if (!Object.hasOwn(ROUTES, method)) throw errorOf("METHOD_NOT_FOUND", `Method not found: ${method}`);
    let sessionId = sessionOf(params);
    const receive = (event: SessionEvent) => {
      sessionId ??= event.session_id; // the first event names a session that is being created
      listener(event);
    };
    try {
      return (await this.#request(ROUTES[method], params as JsonObject, receive, stopListening)) as unknown as Answer<M>;
    } catch (error) {
      throw error instanceof ConnectionLost ? forSession(error, sessionId) : error;
    }
  }

  async #request(route: string, params: JsonObject, listener: Listener, stopListening?: AbortSignal): Promise<JsonObject> {
    // accept events: they keep `fetch` from giving up on a long turn
    const request = this.#newRequest(this.#encodeRequest(route, params, `${JSON_TYPE}, ${SSE}`));
    stopListening?.addEventListener("abort", () => request.stop(new ConnectionLost(STREAM_CLOSED)));
    const response = await request.send();
    if (isStream(response)) return readTurn(request, params, listener);
    const text = await request.text();
    if (response.status !== 200) throw decodeError(response.status, text, sessionOf(params));
    return decode(text);
  }

  /** The messages of a stream. After a first connection, it reconnects for the time that a server needs to restart. */
  async *#follow(stream: Stream, signal: AbortSignal | undefined): AsyncGenerator<SseMessage, void, undefined> {
    let request = signal?.aborted ? undefined : await this.#openStream(stream);
    while (request !== undefined) {
      yield* readMessages(request, signal);
      request = await this.#reopenStream(stream, signal);
    }
  }

  async #openStream({ route, params, lastEventId }: Stream): Promise<HttpRequest> {
    const info = this.#encodeRequest(route, params, SSE);
    if (lastEventId !== undefined) info.headers["last-event-id"] = lastEventId;
    const request = this.#newRequest(info);
    const response = await request.send();
    if (!isStream(response)) throw decodeError(response.status, await request.text(), sessionOf(params));
    return request;
  }

  /** Reconnect after a stream has ended; undefined if the session was archived or the loop was aborted. */
  async #reopenStream(stream: Stream, signal: AbortSignal | undefined): Promise<HttpRequest | undefined> {
    let failure: unknown;
    for (const pauseMs of RETRY_PAUSES_MS) {
      await this.#pause(pauseMs, signal);
      if (signal?.aborted) return undefined;
      try {
        return await this.#openStream(stream);
      } catch (error) {
        if (error instanceof SessionNotFound) return undefined;
        if (!(error instanceof ConnectionLost) || this.#lost !== undefined) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  #newRequest(info: RequestInfo, silenceMs = this.#silenceMs): HttpRequest {
    if (this.#lost !== undefined) throw this.#lost;
    return new HttpRequest(info, silenceMs, this.#running);
  }

  /** A request to a route. Parameters go into the path, and all others into the query or the body. */
  #encodeRequest(route: string, params: JsonObject, accept: string): RequestInfo {
    const [method = "", path = ""] = route.split(" ");
    const rest = new Map(Object.entries(params));
    const invalid = path.startsWith("/library/") ? INVALID_TEXT : INVALID_SEGMENT;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest.get(name);
      rest.delete(name);
      return encodeSegment(name, value, invalid);
    });
    const headers = { ...this.#headers, accept };
    if (QUERY_METHODS.includes(method)) return { method, url: this.#base + filled + encodeQuery(rest), headers };
    const body = encode(Object.fromEntries(rest));
    return { method, url: this.#base + filled, headers: { ...headers, "content-type": JSON_TYPE }, body };
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#pausing.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#pausing.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }
}

// ---- requests

function encodeSegment(name: string, value: unknown, invalid: RegExp): string {
  if (value === undefined || value === null || invalid.test(String(value))) {
    throw errorOf("INVALID_PARAMS", `${name} must be an id, not ${encode(value)}`);
  }
  return encodeURIComponent(String(value));
}

/** An object becomes `labels[key]=value`; an array repeats its name for every item. */
function encodeQuery(params: Map<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of params) {
    const entries = asObject(value);
    if (entries !== undefined) appendEntries(query, name, entries);
    else if (Array.isArray(value)) value.forEach((item) => query.append(name, String(item)));
    else if (value !== undefined && value !== null) query.append(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** If a key contains brackets, the whole object becomes one JSON text. */
function appendEntries(query: URLSearchParams, name: string, entries: JsonObject): void {
  const isPlain = Object.keys(entries).every((key) => /^[^[\]]+$/.test(key));
  if (!isPlain) query.append(name, encode(entries));
  else for (const [key, value] of Object.entries(entries)) query.append(`${name}[${key}]`, String(value));
}

// ---- responses

function isStream(response: Response): boolean {
  return response.ok && (response.headers.get("content-type") ?? "").startsWith(SSE);
}

/** Pass on the events of a turn. The last message of the stream is its result or its error. */
async function readTurn(request: HttpRequest, params: object, listener: Listener): Promise<JsonObject> {
  for await (const { event, data } of request.messages()) {
    if (event === "result") return decode(data);
    if (event === "error") throw decodeError(500, data, sessionOf(params));
    listener(decode(data) as unknown as SessionEvent);
  }
  throw new ConnectionLost("the connection ended before the turn did");
}

/** The messages of a stream, until it ends for any reason. */
async function* readMessages(request: HttpRequest, signal?: AbortSignal): AsyncGenerator<SseMessage, void, undefined> {
  const stop = () => request.stop(new ConnectionLost("the loop was aborted"));
  signal?.addEventListener("abort", stop);
  try {
    if (signal?.aborted) stop();
    yield* request.messages();
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function decode(text: string): JsonObject {
  const body = decodeObject(text);
  if (body === undefined) throw errorOf("INTERNAL_ERROR", `the server did not send a JSON object: ${shorten(text)}`);
  return body;
}

/** The error in a body, bare or under `error`. A proxy's own error page leaves only the status. */
function decodeError(status: number, text: string, sessionId: string | undefined): RecollectError {
  const body = decodeObject(text);
  const error = asObject(body?.["error"]) ?? body;
  const code = error?.["code"];
  if (typeof code !== "string" && typeof code !== "number") {
    return errorOf(status, `the server answered with status ${status}${text ? `: ${shorten(text)}` : ""}`, {}, sessionId);
  }
  return errorOf(code, String(error?.["message"]), asObject(error?.["details"]), sessionId);
}

/** The sequence of the last event that was received or dropped. */
function sequenceAfter(event: SessionEvent, last: number | undefined): number | undefined {
  if ("sequence" in event) return event.sequence;
  return last !== undefined && event.type === "stream_truncated" ? last + event.dropped : last;
}
