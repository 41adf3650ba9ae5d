/** The interface to a server, independent of the protocol: JSON-RPC over pipes or TCP, or HTTP. */

import type { LibraryChange, SessionEvent } from "./events.js";
import type { StreamOptions } from "./library.js";
import type { JsonObject, Method, Methods } from "./operations.js";
import type { LibraryMethod } from "./responses.js";
import type { ServerInfo } from "./types.js";

/** The parameters of a method. */
export type Request<M extends Method> = Methods[M][0];
/** The response of a method. */
export type Answer<M extends Method> = Methods[M][1];

/** Receives the events of a turn. */
export type Listener = (event: SessionEvent) => void;

/** The MCP result of a tool. An error of the tool is a result too, with `isError`. */
export interface ToolResult<Structured = JsonObject> {
  content: { type: string; text?: string }[];
  structuredContent?: Structured;
  isError?: boolean;
}

export interface EventsOptions {
  /** Start after the event with this `sequence`. Default: with the running turn, or now. */
  after?: number;
  /** Aborting it ends the loop. */
  signal?: AbortSignal;
}

export interface Transport {
  /** Check that the other end is a Recollect server and accepts the token. */
  handshake(): Promise<ServerInfo>;

  /** Call a method. The response is not checked. Every failure is a `RecollectError`. */
  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>>;

  /**
   * Run a turn. `listener` gets every event before the promise settles. After `stopListening` is aborted, the turn continues,
   * and the promise rejects with `ConnectionLost`.
   */
  runTurn(params: Request<"turn/start">, listener: Listener, stopListening?: AbortSignal): Promise<Answer<"turn/start">>;

  /** Call a tool. The result is not checked. */
  callTool(name: string, args: object): Promise<ToolResult>;

  /** Events of all turns of a session, also of other clients, until the session is archived. */
  events(sessionId: string, options: EventsOptions): AsyncGenerator<SessionEvent, void, undefined>;

  /** Call a method whose answer is a document. `write` gets it in pieces; the result describes it. */
  download(method: LibraryMethod, params: JsonObject, write: (piece: string) => Promise<void>): Promise<JsonObject>;

  /** What changes in the library, from now on or after a position. */
  changes(options: StreamOptions): AsyncGenerator<LibraryChange, void, undefined>;

  /** Disconnect. Calls that are still waiting fail with `ConnectionLost`. */
  close(): Promise<void>;
}

/** The message of the `result` of a closed stream. */
export const STREAM_CLOSED = "the stream was closed before the turn ended";

/** The id of the session that a request names, without the realm of a `<realm>:<id>`. */
export function sessionOf(params: object): string | undefined {
  const locator = (params as JsonObject)["session_id"];
  return typeof locator === "string" ? locator.slice(locator.lastIndexOf(":") + 1).toLowerCase() : undefined;
}
