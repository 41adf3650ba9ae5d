/** Events of a turn, in the order in which they happen; `sequence` grows by 1. */

import type { MeerkatStartTurnAnswer } from "./operations.js";

interface Told {
  session_id: string;
  sequence: number;
}

export interface TurnStarted extends Told {
  type: "turn_started";
  /** Which turn of the session it is, from 1. */
  turn: number;
}

export interface TextDelta extends Told {
  type: "text_delta";
  delta: string;
}

export interface ReasoningDelta extends Told {
  type: "reasoning_delta";
  delta: string;
}

export interface ToolCall extends Told {
  type: "tool_call";
  id: string;
  name: string;
  input: unknown;
}

export interface ToolCallResult extends Told {
  type: "tool_result";
  id: string;
  content: string;
  is_error: boolean;
  exit_code?: number;
}

/** The turn is over, and what it came to can be read. */
export interface TurnCompleted extends Told, Omit<MeerkatStartTurnAnswer, "session_id"> {
  type: "turn_completed";
}

export interface TurnFailed extends Told {
  type: "turn_failed";
  message: string;
}

export interface TurnInterrupted extends Told {
  type: "turn_interrupted";
  message: string;
}

/** We read too slowly: this many events are missing here. */
export interface StreamTruncated {
  type: "stream_truncated";
  session_id: string;
  dropped: number;
}

/** An event of a turn. Servers may come to tell more kinds than these: pass over those you do not know. */
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

/** How a turn ends: nothing comes after one of these. */
export function isLast(event: SessionEvent): boolean {
  return ["turn_completed", "turn_failed", "turn_interrupted"].includes(event.type);
}
