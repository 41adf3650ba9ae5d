/**
 * The client's errors, as one tree:
 *
 *     RecollectError
 *     ├── NotFound                    the library has no such session, observation, event or label
 *     │   └── SessionNotFound         no such session in this realm, or it is archived
 *     ├── SessionBusy                 a turn of the session is already running; turns are not queued
 *     ├── RequestCancelled            the turn was interrupted, or the request took too long
 *     ├── ProviderError               a program or service that the agent needs is not available
 *     ├── AgentError                  the agent failed, or its turn took too long
 *     ├── SessionPersistenceDisabled  the realm is in memory and does not store this
 *     ├── StaleCursor                 events were requested after one that the session does not have
 *     ├── Conflict                    something changed in the meantime, so nothing was done
 *     │   └── GenerationConflict      the config was changed in the meantime
 *     ├── InvalidParams               the request is not valid
 *     │   ├── AmbiguousId             the beginning of an id fits several; `matches` has them
 *     │   └── InvalidFilter           no session can have this value of a filter; it names similar ones
 *     ├── StoreBusy                   another process writes to the store
 *     ├── InternalError               the server failed, or its response cannot be read
 *     ├── Unauthorized                the server refuses access
 *     └── ConnectionLost              the server has ended, or cannot be reached
 *
 * An error with an unknown code is a plain `RecollectError`.
 */

import type { JsonObject } from "./operations.js";

/** An error that the server returned, or a missing server. */
export class RecollectError extends Error {
  /** The error's code, such as `SESSION_BUSY`. It is the same over every protocol. */
  readonly code: string;
  /** More about the error, such as both generations of a conflict. */
  readonly details: JsonObject;
  /** The session of the failed call, if any. After a failed first turn, it is the session that was created. */
  readonly sessionId: string | undefined;

  constructor(code: string, message: string, details: JsonObject = {}, sessionId?: string) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
    this.sessionId = typeof details["session_id"] === "string" ? details["session_id"] : sessionId;
  }
}

export class NotFound extends RecollectError {}
export class SessionNotFound extends NotFound {}
export class SessionBusy extends RecollectError {}
export class RequestCancelled extends RecollectError {}
export class ProviderError extends RecollectError {}
export class AgentError extends RecollectError {}
export class SessionPersistenceDisabled extends RecollectError {}
/** `events({ after })` names an event that the session does not have. `details` has the `newest` event's sequence. */
export class StaleCursor extends RecollectError {}
export class Conflict extends RecollectError {}
export class GenerationConflict extends Conflict {}
export class InvalidParams extends RecollectError {}
export class AmbiguousId extends InvalidParams {
  /** The ids that begin like this. */
  get matches(): string[] {
    return texts(this.details["matches"]);
  }
}
export class InvalidFilter extends InvalidParams {
  /** The values that are similar. */
  get didYouMean(): string[] {
    return texts(this.details["did_you_mean"]);
  }
}
export class StoreBusy extends RecollectError {}
export class InternalError extends RecollectError {}
export class Unauthorized extends RecollectError {}

/**
 * The server has ended, or cannot be reached. Every waiting call fails with this.
 * For a server that this client started, `details` has `exit_code`, `signal` and the end of its `stderr`.
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
  // of the library
  ["not_found", NotFound],
  ["invalid_request", InvalidParams],
  ["invalid_id", InvalidParams],
  ["invalid_cursor", InvalidParams],
  ["ambiguous_id", AmbiguousId],
  ["invalid_filter", InvalidFilter],
  ["conflict", Conflict],
  ["session_busy", SessionBusy],
  ["store_busy", StoreBusy],
  ["deadline_exceeded", RequestCancelled],
  ["cancelled", RequestCancelled],
  ["agent_failed", AgentError],
  ["runner_unavailable", ProviderError],
  ["model_unavailable", ProviderError],
  ["not_stored", SessionPersistenceDisabled],
  ["invalid_settings", InternalError],
  ["internal_error", InternalError],
]);

/** For errors without a code: those of journeys and a proxy's error pages have only a status. */
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

/** The error for a code. If the code is an HTTP status, `details` has it as `status`. */
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

/** The same error, for a call about this session. */
export function forSession({ message, details }: ConnectionLost, sessionId: string | undefined): ConnectionLost {
  return new ConnectionLost(message, details, sessionId);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
