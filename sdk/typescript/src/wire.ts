/** What carries requests to a server: lines over pipes or a socket, or HTTP. */

import type { SessionEvent } from "./events.js";
import type { JsonObject, Method, Methods } from "./operations.js";
import type { ServerInfo } from "./types.js";

/** What a method takes. */
export type Request<M extends Method> = Methods[M][0];
/** What a method answers. */
export type Answer<M extends Method> = Methods[M][1];

/** Who wants to hear of a turn. */
export type Listener = (event: SessionEvent) => void;

/** What a tool answers, as in MCP. An error of the tool is an answer too, with `isError`. */
export interface ToolResult<Structured = JsonObject> {
  content: { type: string; text?: string }[];
  structuredContent?: Structured;
  isError?: boolean;
}

export interface EventsOptions {
  /** Go on after the event of this `sequence`. Default: from now on, or from the beginning of the turn that runs. */
  after?: number;
  /** Ends the loop when it is aborted. */
  signal?: AbortSignal;
}

export interface Wire {
  /** Make sure that there is a server, and one that lets us in; what it tells of itself. */
  greet(): Promise<ServerInfo>;

  /** Ask, and get the answer, of any shape. Rejects with a `RecollectError` and nothing else. */
  call<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>>;

  /**
   * Run a turn of a session; `listener` has heard all of its events when the promise settles. To abort `letGo` is to stop
   * listening: the turn goes on, and the promise rejects with `ConnectionLost`.
   */
  turn(params: Request<"turn/start">, listener: Listener, letGo?: AbortSignal): Promise<Answer<"turn/start">>;

  /** Call a tool. */
  tool(name: string, given: object): Promise<ToolResult>;

  /** The events of a session's turns, whoever asked for them, until the session is archived. */
  events(sessionId: string, options: EventsOptions): AsyncGenerator<SessionEvent, void, undefined>;

  /** Let go of the server. What is under way fails with `ConnectionLost`. */
  close(): Promise<void>;
}

/** A session's id, also of `<realm>:<id>`: events name it so. */
export function bare(locator: string): string {
  return locator.slice(locator.lastIndexOf(":") + 1).toLowerCase();
}

/** Why a turn is not heard any more. */
export const UNHEARD = "nobody listens to this turn any more";

/** The session that a request is about, if it is about one. */
export function sessionOf(params: object): string | undefined {
  const named = (params as JsonObject)["session_id"];
  return typeof named === "string" ? bare(named) : undefined;
}
