/**
 * Whose an event is, on a connection that tells of all its turns and names only their sessions.
 *
 * One turn of a session runs at a time. While more than one was asked for, all but one will hear that the session is busy,
 * and who that one is shows when they do: until then, events wait.
 */

import { isLast, type SessionEvent } from "./events.js";
import type { Listener } from "./wire.js";

const BUSY = "SESSION_BUSY";

/** A turn that was asked for here and is not answered yet. */
export class AskedTurn {
  isOver = false;
  readonly #listener: Listener;
  #hasBegun = false;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** What comes before the beginning is of a turn that was asked for in another way, such as by a tool. */
  hear(event: SessionEvent): void {
    this.#hasBegun ||= event.type === "turn_started" || event.type === "stream_truncated";
    if (!this.#hasBegun || this.isOver) return;
    this.isOver = isLast(event);
    this.#listener(event);
  }
}

export class Turns {
  readonly #asked = new Map<string, AskedTurn[]>();
  readonly #held = new Map<string, SessionEvent[]>();

  ask(session: string, listener: Listener): AskedTurn {
    const asked = new AskedTurn(listener);
    this.#asked.set(session, [...(this.#asked.get(session) ?? []), asked]);
    return asked;
  }

  tell(event: SessionEvent): void {
    const possible = (this.#asked.get(event.session_id) ?? []).filter((asked) => !asked.isOver);
    const [first] = possible;
    if (first === undefined) return;
    const held = this.#held.get(event.session_id);
    if (possible.length === 1) first.hear(event);
    else if (held !== undefined) held.push(event);
    else this.#held.set(event.session_id, [event]);
  }

  /** A turn was answered, with an error where there is a code: all its events have come. */
  answer(session: string, asked: AskedTurn, code?: string): void {
    const others = (this.#asked.get(session) ?? []).filter((other) => other !== asked);
    if (others.length > 0) this.#asked.set(session, others);
    else this.#asked.delete(session);
    const held = this.#held.get(session) ?? [];
    this.#held.delete(session);
    const own = ownOf(held, asked, code);
    held.slice(0, own).forEach((event) => asked.hear(event));
    held.slice(own).forEach((event) => this.tell(event));
  }
}

/** How many of the events that wait are of the turn that was answered. */
function ownOf(held: SessionEvent[], asked: AskedTurn, code: string | undefined): number {
  const end = held.findIndex(isLast) + 1;
  const didRun = code === undefined || (end > 0 && code !== BUSY);
  if (!didRun || asked.isOver) return 0;
  return end > 0 ? end : held.length;
}
