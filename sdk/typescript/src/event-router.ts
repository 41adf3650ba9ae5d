/**
 * Routes events to the turns that wait for them. One connection carries the events of all its turns.
 *
 * An event names its session, not its turn. A session runs one turn at a time: if several were requested, the server refuses
 * all others as busy. Until those errors arrive, the client cannot know which turn runs, so the router holds events back.
 */

import { isLast, type SessionEvent } from "./events.js";
import type { Listener } from "./transport.js";

const BUSY = "SESSION_BUSY";

/** A turn that was requested on this connection and has no response yet. */
export class PendingTurn {
  isOver = false;
  readonly #listener: Listener;
  #hasStarted = false;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** Pass an event on. Events before the start belong to another turn, such as one that a tool started. */
  receive(event: SessionEvent): void {
    this.#hasStarted ||= event.type === "turn_started" || event.type === "stream_truncated";
    if (!this.#hasStarted || this.isOver) return;
    this.isOver = isLast(event);
    this.#listener(event);
  }
}

/** Sends each event to the turn it belongs to. */
export class EventRouter {
  readonly #pending = new Map<string, PendingTurn[]>();
  readonly #held = new Map<string, SessionEvent[]>();

  /** Register a turn that is about to be requested. */
  add(session: string, listener: Listener): PendingTurn {
    const turn = new PendingTurn(listener);
    this.#pending.set(session, [...(this.#pending.get(session) ?? []), turn]);
    return turn;
  }

  /** Pass an event to its turn, or hold it back while several turns may own it. */
  dispatch(event: SessionEvent): void {
    const candidates = (this.#pending.get(event.session_id) ?? []).filter((turn) => !turn.isOver);
    const [first] = candidates;
    if (first === undefined) return;
    const held = this.#held.get(event.session_id);
    if (candidates.length === 1) first.receive(event);
    else if (held !== undefined) held.push(event);
    else this.#held.set(event.session_id, [event]);
  }

  /** Remove a turn: its response has arrived, and all its events arrived before. */
  finish(session: string, turn: PendingTurn, errorCode?: string): void {
    const others = (this.#pending.get(session) ?? []).filter((other) => other !== turn);
    if (others.length > 0) this.#pending.set(session, others);
    else this.#pending.delete(session);
    const held = this.#held.get(session) ?? [];
    this.#held.delete(session);
    const own = countOwn(held, turn, errorCode);
    held.slice(0, own).forEach((event) => turn.receive(event));
    held.slice(own).forEach((event) => this.dispatch(event));
  }
}

/** How many of the held events belong to the turn whose response arrived. */
function countOwn(held: SessionEvent[], turn: PendingTurn, errorCode: string | undefined): number {
  const end = held.findIndex(isLast) + 1;
  const didRun = errorCode === undefined || (end > 0 && errorCode !== BUSY);
  if (!didRun || turn.isOver) return 0;
  return end > 0 ? end : held.length;
}
