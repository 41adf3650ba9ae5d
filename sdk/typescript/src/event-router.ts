/**
 * Routes events to the turns that wait for them, on a connection that carries the events of all its turns.
 *
 * An event names its session, not its turn. A session runs one turn at a time, so of several that were requested all but one
 * will be refused as busy. Until those refusals arrive it is not known which one runs, so its events are held back.
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

  /** Pass an event on. Events before the start belong to a turn that was started otherwise, such as by a tool. */
  receive(event: SessionEvent): void {
    this.#hasStarted ||= event.type === "turn_started" || event.type === "stream_truncated";
    if (!this.#hasStarted || this.isOver) return;
    this.isOver = isLast(event);
    this.#listener(event);
  }
}

export class EventRouter {
  readonly #pending = new Map<string, PendingTurn[]>();
  readonly #held = new Map<string, SessionEvent[]>();

  /** Register a turn that is about to be requested. */
  add(session: string, listener: Listener): PendingTurn {
    const turn = new PendingTurn(listener);
    this.#pending.set(session, [...(this.#pending.get(session) ?? []), turn]);
    return turn;
  }

  dispatch(event: SessionEvent): void {
    const candidates = (this.#pending.get(event.session_id) ?? []).filter((turn) => !turn.isOver);
    const [first] = candidates;
    if (first === undefined) return;
    const held = this.#held.get(event.session_id);
    if (candidates.length === 1) first.receive(event);
    else if (held !== undefined) held.push(event);
    else this.#held.set(event.session_id, [event]);
  }

  /** The response to a turn has arrived, and so have all its events. */
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
