/** HTTP: a request for every call; turns and events come as Server-Sent Events. */

import { ConnectionLost, errorOf, lostFor, SessionNotFound, type RecollectError } from "./errors.js";
import type { SessionEvent } from "./events.js";
import { Exchange, type Asked } from "./exchange.js";
import { asObject, encoded, objectOf, shown } from "./json.js";
import { ROUTES, type JsonObject, type Method } from "./operations.js";
import type { ServerInfo } from "./types.js";
import { findToken } from "./token.js";
import { sessionOf, UNHEARD } from "./wire.js";
import type { Answer, EventsOptions, Listener, Request, ToolResult, Wire } from "./wire.js";

/** Where a server is. */
export interface HttpOptions {
  /** Such as `http://127.0.0.1:7377`. */
  url: string | URL;
  /** The server's token. That of a server on this machine is found without being given. */
  token?: string;
  /** A server that says nothing for so long is taken for gone; while a turn runs it does so every 15 s. Default 60 000. */
  silenceMs?: number;
}

const SILENCE_MS = 60_000; // four signs of life that did not come
const PAUSES_MS = [100, 200, 400, 800, 1_600, 3_200]; // before events are asked for again: a server restarts in less
const SSE = "text/event-stream";
const JSON_TYPE = "application/json";
const IN_QUERY = ["GET", "DELETE"];
const HEALTH = "GET /health";
const EVENTS = "GET /sessions/{session_id}/events";
const TOOL = "POST /v1/tools/{name}";
const NO_SEGMENT = /^\.{0,2}$|\//; // what would lead to another path, however it is escaped

export class HttpWire implements Wire {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #silenceMs: number;
  readonly #underWay = new Set<Exchange>();
  readonly #pausing = new Set<() => void>();
  #lost: ConnectionLost | undefined;

  constructor({ url, token, silenceMs = SILENCE_MS }: HttpOptions) {
    const { protocol, origin, hostname, port, pathname, search, hash } = new URL(url);
    if (!["http:", "https:"].includes(protocol) || search || hash) {
      throw new TypeError(`${url} is no address such as http://127.0.0.1:7377`);
    }
    this.#base = origin + pathname.replace(/\/+$/, "");
    const found = token ?? findToken(hostname, Number(port || (protocol === "https:" ? 443 : 80)));
    if (found && !/^[\x21-\x7e]+$/.test(found)) throw new TypeError("a token is made of printable ASCII characters");
    this.#headers = found ? { authorization: `Bearer ${found}` } : {};
    this.#silenceMs = silenceMs;
  }

  async greet(): Promise<ServerInfo> {
    const exchange = this.#exchange(this.#asked(HEALTH, {}, JSON_TYPE));
    await exchange.begin();
    const told = objectOf(await exchange.text());
    if (typeof told?.["realm_id"] !== "string") throw new ConnectionLost(`${this.#base} is no server of Recollect`);
    return { name: "recollect", ...told, methods: Object.keys(ROUTES).sort() } as ServerInfo;
  }

  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#ask(method, params, () => {});
  }

  turn(params: Request<"turn/start">, listener: Listener, letGo?: AbortSignal): Promise<Answer<"turn/start">> {
    return this.#ask("turn/start", params, listener, letGo);
  }

  async tool(name: string, given: object): Promise<ToolResult> {
    const asked = { ...this.#asked(TOOL, { name }, JSON_TYPE), body: encoded(given) };
    const exchange = this.#exchange(asked, 0); // a tool may run a turn, and says nothing meanwhile
    const { status } = await exchange.begin();
    const text = await exchange.text();
    const result = objectOf(text);
    if (Array.isArray(result?.["content"])) return result as unknown as ToolResult;
    if (result?.["code"] === "NOT_FOUND") throw errorOf("INVALID_PARAMS", `Unknown tool: ${name}`);
    throw refusal(status, text, undefined);
  }

  async *events(sessionId: string, { after, signal }: EventsOptions): AsyncGenerator<SessionEvent, void, undefined> {
    let heard = after;
    let exchange = signal?.aborted ? undefined : await this.#listen(sessionId, heard);
    while (exchange !== undefined) {
      for await (const event of eventsOf(exchange, signal)) {
        heard = heardAfter(event, heard);
        yield event;
      }
      exchange = await this.#listenAgain(sessionId, heard, signal);
    }
  }

  async close(): Promise<void> {
    this.#lost ??= new ConnectionLost("the client was closed");
    for (const exchange of [...this.#underWay]) exchange.stop(this.#lost);
    for (const wake of [...this.#pausing]) wake();
  }

  // ---- a request

  async #ask<M extends Method>(
    method: M,
    params: Request<M>,
    listener: Listener,
    letGo?: AbortSignal,
  ): Promise<Answer<M>> {
    if (!Object.hasOwn(ROUTES, method)) throw errorOf("METHOD_NOT_FOUND", `Method not found: ${method}`);
    let sessionId = sessionOf(params);
    const hear = (event: SessionEvent) => {
      sessionId ??= event.session_id; // of a session that is being made, events are the first to tell
      listener(event);
    };
    try {
      return (await this.#answer(ROUTES[method], params as JsonObject, hear, letGo)) as unknown as Answer<M>;
    } catch (error) {
      throw error instanceof ConnectionLost ? lostFor(sessionId, error) : error;
    }
  }

  async #answer(route: string, params: JsonObject, listener: Listener, letGo?: AbortSignal): Promise<JsonObject> {
    // what runs a turn answers with its events, so that no answer is so long in coming that `fetch` gives up
    const exchange = this.#exchange(this.#asked(route, params, `${JSON_TYPE}, ${SSE}`));
    letGo?.addEventListener("abort", () => exchange.stop(new ConnectionLost(UNHEARD)));
    const response = await exchange.begin();
    if (isStream(response)) return ranTurn(exchange, params, listener);
    const text = await exchange.text();
    if (response.status !== 200) throw refusal(response.status, text, sessionOf(params));
    return parsed(text);
  }

  async #listen(sessionId: string, heard: number | undefined): Promise<Exchange> {
    const asked = this.#asked(EVENTS, { session_id: sessionId }, SSE);
    if (heard !== undefined) asked.headers["last-event-id"] = String(heard);
    const exchange = this.#exchange(asked);
    const response = await exchange.begin();
    if (!isStream(response)) throw refusal(response.status, await exchange.text(), sessionId);
    return exchange;
  }

  /** Where a stream has ended: go on with the next one, or with none if the session was archived or nobody wants it. */
  async #listenAgain(sessionId: string, heard: number | undefined, signal?: AbortSignal): Promise<Exchange | undefined> {
    let last: unknown;
    for (const ms of PAUSES_MS) {
      await this.#pause(ms, signal);
      if (signal?.aborted) return undefined;
      try {
        return await this.#listen(sessionId, heard);
      } catch (error) {
        if (error instanceof SessionNotFound) return undefined;
        if (!(error instanceof ConnectionLost) || this.#lost !== undefined) throw error;
        last = error;
      }
    }
    throw last;
  }

  #exchange(asked: Asked, silenceMs = this.#silenceMs): Exchange {
    if (this.#lost !== undefined) throw this.#lost;
    return new Exchange(asked, silenceMs, this.#underWay);
  }

  /** A request by its route: what its path names goes there, the rest into the query or the body. */
  #asked(route: string, params: JsonObject, accept: string): Asked {
    const [method = "", path = ""] = route.split(" ");
    const rest = new Map(Object.entries(params));
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest.get(name);
      rest.delete(name);
      return segment(name, value);
    });
    const headers = { ...this.#headers, accept };
    if (IN_QUERY.includes(method)) return { method, url: this.#base + filled + queryOf(rest), headers };
    const body = encoded(Object.fromEntries(rest));
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

// ---- what is asked

function segment(name: string, value: unknown): string {
  if (value === undefined || value === null || NO_SEGMENT.test(String(value))) {
    throw errorOf("INVALID_PARAMS", `${name} cannot be ${encoded(value)}`);
  }
  return encodeURIComponent(String(value));
}

/** An object is `labels[key]=value`, an array says its name once for every item. */
function queryOf(params: Map<string, unknown>): string {
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

/** Where a key has brackets of its own, all of the object is one JSON text. */
function appendEntries(query: URLSearchParams, name: string, entries: JsonObject): void {
  const isPlain = Object.keys(entries).every((key) => /^[^[\]]+$/.test(key));
  if (!isPlain) query.append(name, encoded(entries));
  else for (const [key, value] of Object.entries(entries)) query.append(`${name}[${key}]`, String(value));
}

// ---- what is answered

function isStream(response: Response): boolean {
  return response.ok && (response.headers.get("content-type") ?? "").startsWith(SSE);
}

/** The events of a turn, and last what it came to. */
async function ranTurn(exchange: Exchange, params: object, listener: Listener): Promise<JsonObject> {
  for await (const { event, data } of exchange.messages()) {
    if (event === "result") return parsed(data);
    if (event === "error") throw refusal(500, data, sessionOf(params));
    listener(parsed(data) as unknown as SessionEvent);
  }
  throw new ConnectionLost("the server has gone before the turn had ended");
}

/** The events of a session, until the stream ends in any way. */
async function* eventsOf(exchange: Exchange, signal?: AbortSignal): AsyncGenerator<SessionEvent, void, undefined> {
  const stop = () => exchange.stop(new ConnectionLost("nobody wants to hear more"));
  signal?.addEventListener("abort", stop);
  try {
    if (signal?.aborted) stop();
    for await (const { data } of exchange.messages()) yield parsed(data) as unknown as SessionEvent;
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function parsed(text: string): JsonObject {
  const body = objectOf(text);
  if (body === undefined) throw errorOf("INTERNAL_ERROR", `the server said what is no JSON object: ${shown(text)}`);
  return body;
}

/** An error as its family says it, bare or in a frame; of what is no answer of ours, the status must do. */
function refusal(status: number, text: string, sessionId: string | undefined): RecollectError {
  const body = objectOf(text);
  const told = asObject(body?.["error"]) ?? body;
  const code = told?.["code"];
  if (typeof code !== "string" && typeof code !== "number") {
    return errorOf(status, `the server answered with status ${status}${text ? `: ${shown(text)}` : ""}`, {}, sessionId);
  }
  return errorOf(code, String(told?.["message"]), asObject(told?.["details"]), sessionId);
}

/** Up to which event everything was heard, or is known to be missed. */
function heardAfter(event: SessionEvent, heard: number | undefined): number | undefined {
  if ("sequence" in event) return event.sequence;
  return heard !== undefined && event.type === "stream_truncated" ? heard + event.dropped : heard;
}
