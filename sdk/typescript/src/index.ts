/** The TypeScript client of Recollect: live sessions, their history, journeys, and every tool. */

export { Client } from "./client.js";
export type { SpawnOptions } from "./child-process.js";
export {
  AgentError,
  AmbiguousId,
  Conflict,
  ConnectionLost,
  GenerationConflict,
  InternalError,
  InvalidFilter,
  InvalidParams,
  NotFound,
  ProviderError,
  RecollectError,
  RequestCancelled,
  SessionBusy,
  SessionNotFound,
  SessionPersistenceDisabled,
  StaleCursor,
  StoreBusy,
  Unauthorized,
} from "./errors.js";
export type * from "./events.js";
export type { HttpOptions } from "./http-transport.js";
export { Library, type StreamOptions } from "./library.js";
export type * from "./library-methods.js";
export type { LibraryAnswer, LibraryPage } from "./library-frame.js";
export { Pages } from "./pages.js";
export { Journey } from "./journey.js";
export type {
  DocumentRow,
  DocumentType,
  JourneyHistory,
  JourneySession,
  LinkOptions,
  NewDocument,
  QueryOptions,
  TimelineEntry,
} from "./journey.js";
export type * from "./operations.js";
export { DeferredSession, Session, type StartedSession } from "./session.js";
export type { ConnectOptions } from "./line-connection.js";
export { TurnStream } from "./turn-stream.js";
export type * from "./types.js";
export type { Answer, EventsOptions, Request, ToolResult } from "./transport.js";
