/**
 * What can go wrong, as one tree:
 *
 *     RecollectError
 *     ├── SessionNotFound             no such session in this realm, or it is archived
 *     ├── SessionBusy                 a turn of the session is running; nothing waits in a queue
 *     ├── RequestCancelled            the turn was interrupted, or reading took longer than it may
 *     ├── ProviderError               what the agent needs cannot be had
 *     ├── AgentError                  the agent failed, or its turn took longer than it may
 *     ├── SessionPersistenceDisabled  a realm in memory does not keep what was asked for
 *     ├── StaleCursor                 a cursor of what has changed since
 *     ├── GenerationConflict          somebody else has written the config in between
 *     ├── InvalidParams               the request is not a proper one
 *     ├── InternalError               the server failed, or answered what nobody can read
 *     ├── Unauthorized                the server does not let us in
 *     └── ConnectionLost              the server is gone, or was never there
 *
 * A code that is not known here is a plain `RecollectError`.
 */

import type { JsonObject } from "./operations.js";

/** Any error that a server answers with, or that comes of having none. */
export class RecollectError extends Error {
  /** What it is called on every surface, such as `SESSION_BUSY`. */
  readonly code: string;
  /** What more there is to know, such as both generations of a conflict. */
  readonly details: JsonObject;
  /** The session it is about, where it is about one: also of a create whose first turn failed. */
  readonly sessionId: string | undefined;

  constructor(code: string, message: string, details: JsonObject = {}, sessionId?: string) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
    this.sessionId = typeof details["session_id"] === "string" ? details["session_id"] : sessionId;
  }
}

export class SessionNotFound extends RecollectError {}
export class SessionBusy extends RecollectError {}
export class RequestCancelled extends RecollectError {}
export class ProviderError extends RecollectError {}
export class AgentError extends RecollectError {}
export class SessionPersistenceDisabled extends RecollectError {}
export class StaleCursor extends RecollectError {}
export class GenerationConflict extends RecollectError {}
export class InvalidParams extends RecollectError {}
export class InternalError extends RecollectError {}
export class Unauthorized extends RecollectError {}

/**
 * The server is gone, or was never there. Everything that was under way fails with this; nothing waits for ever.
 * Of a server that we started, `details` has `exit_code`, `signal` and the end of its `stderr`.
 */
export class ConnectionLost extends RecollectError {
  constructor(message: string, details: JsonObject = {}, sessionId?: string) {
    super("CONNECTION_LOST", message, details, sessionId);
  }
}

const BY_CODE: ReadonlyMap<string, typeof RecollectError> = new Map([
  ["SESSION_NOT_FOUND", SessionNotFound],
  ["SESSION_BUSY", SessionBusy],
  ["REQUEST_CANCELLED", RequestCancelled],
  ["PROVIDER_ERROR", ProviderError],
  ["AGENT_ERROR", AgentError],
  ["SESSION_PERSISTENCE_DISABLED", SessionPersistenceDisabled],
  ["STALE_CURSOR", StaleCursor],
  ["GENERATION_CONFLICT", GenerationConflict],
  ["INVALID_PARAMS", InvalidParams],
  ["INTERNAL_ERROR", InternalError],
  ["UNAUTHORIZED", Unauthorized],
  ["FORBIDDEN_HOST", Unauthorized],
  ["FORBIDDEN_ORIGIN", Unauthorized],
]);

/** What a status says by itself: of journeys, which have no other codes, and of an answer without a body of ours. */
const BY_STATUS: ReadonlyMap<number, string> = new Map([
  [200, "INTERNAL_ERROR"],
  [400, "INVALID_PARAMS"],
  [401, "UNAUTHORIZED"],
  [403, "UNAUTHORIZED"],
  [404, "INVALID_PARAMS"],
  [408, "REQUEST_CANCELLED"],
  [410, "STALE_CURSOR"],
  [413, "INVALID_PARAMS"],
  [499, "REQUEST_CANCELLED"],
  [500, "INTERNAL_ERROR"],
  [504, "REQUEST_CANCELLED"],
]);

/** The error that a code means. One that is a number, as HTTP has them, is kept in `details` as the `status`. */
export function errorOf(
  code: string | number,
  message: string,
  details: JsonObject = {},
  sessionId?: string,
): RecollectError {
  if (typeof code === "number") {
    return errorOf(BY_STATUS.get(code) ?? `HTTP_${code}`, message, { ...details, status: code }, sessionId);
  }
  const Kind = BY_CODE.get(code) ?? RecollectError;
  return new Kind(code, message, details, sessionId);
}

/** A lost connection, as somebody is told who had asked for something of this session. */
export function lostFor(sessionId: string | undefined, { message, details }: ConnectionLost): ConnectionLost {
  return new ConnectionLost(message, details, sessionId);
}
