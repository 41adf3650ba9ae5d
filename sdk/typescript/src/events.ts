/** Events of a turn, in order. `sequence` grows by 1. */

import type { MeerkatStartTurnAnswer } from "./operations.js";

interface NumberedEvent {
  session_id: string;
  sequence: number;
}

export interface TurnStarted extends NumberedEvent {
  type: "turn_started";
  /** The number of the turn in its session, from 1. */
  turn: number;
}

export interface TextDelta extends NumberedEvent {
  type: "text_delta";
  delta: string;
}

export interface ReasoningDelta extends NumberedEvent {
  type: "reasoning_delta";
  delta: string;
}

export interface ToolCall extends NumberedEvent {
  type: "tool_call";
  id: string;
  name: string;
  input: unknown;
}

export interface ToolCallResult extends NumberedEvent {
  type: "tool_result";
  id: string;
  content: string;
  is_error: boolean;
  exit_code?: number;
}

/** The turn is over, with this result. */
export interface TurnCompleted extends NumberedEvent, Omit<MeerkatStartTurnAnswer, "session_id"> {
  type: "turn_completed";
}

export interface TurnFailed extends NumberedEvent {
  type: "turn_failed";
  message: string;
}

export interface TurnInterrupted extends NumberedEvent {
  type: "turn_interrupted";
  message: string;
}

/** This many events are missing here, because the client read too slowly. */
export interface StreamTruncated {
  type: "stream_truncated";
  session_id: string;
  dropped: number;
}

/** An event of a turn. A newer server may send more types: ignore types that you do not know. */
export type SessionEvent =
  | TurnStarted
  | TextDelta
  | ReasoningDelta
  | ToolCall
  | ToolCallResult
  | TurnCompleted
  | TurnFailed
  | TurnInterrupted
  | StreamTruncated;

/**
 * A change of the library. `type`: `ready` (the stream has begun), `session_changed`, or `refresh`: too much changed to be
 * named, or sessions were removed, so read again what you show.
 */
export interface LibraryChange {
  type: "ready" | "session_changed" | "refresh";
  session?: string;
  uuid?: string;
  title?: string;
  updated_at?: string;
  /** The sequence of the session's newest event. */
  sequence?: number;
  /** Why a refresh is needed. */
  reason?: string;
  /** Pass it as `after` to get what follows. Only the last of the changes that came together has it. */
  position?: string;
}

/** Whether this is the last event of a turn. */
export function isLast(event: SessionEvent): boolean {
  return ["turn_completed", "turn_failed", "turn_interrupted"].includes(event.type);
}
