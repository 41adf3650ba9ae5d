/** A running turn: its events, then its result. */

import type { SessionEvent } from "./events.js";
import type { TurnResult } from "./types.js";
import type { Listener } from "./transport.js";

/**
 * The events of a running turn, in order, then its result:
 *
 *     const turn = session.stream("And then?");
 *     for await (const event of turn) …
 *     const { text } = await turn.result;
 *
 * If the turn does not complete, the loop throws its error after the last event, and `result` rejects with it. The turn
 * runs even if nothing reads its events. Leaving the loop does not end the turn; `session.interrupt()` ends it. Unread
 * events stay in memory; a turn produces at most 32 million characters.
 */
export class TurnStream implements AsyncIterable<SessionEvent>, AsyncDisposable {
  /** The result of the turn. */
  readonly result: Promise<TurnResult>;
  #events: SessionEvent[] = []; // the events before #next have been read
  #next = 0;
  #isOver = false;
  #isClosed = false;
  readonly #stopListening = new AbortController();
  #waiting: (() => void)[] = [];

  /** @internal `start` runs the turn. Its promise settles after the last event, or when `stopListening` is aborted. */
  constructor(start: (listener: Listener, stopListening: AbortSignal) => Promise<TurnResult>) {
    const receive = (event: SessionEvent) => {
      if (this.#isClosed) return;
      this.#events.push(event);
      this.#wake();
    };
    this.result = start(receive, this.#stopListening.signal).finally(() => {
      this.#isOver = true;
      this.#wake();
    });
    this.result.catch(() => {}); // marks it as handled: the loop throws it
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    for (;;) {
      const event = this.#take();
      if (event !== undefined) yield event;
      else if (this.#isOver) break;
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (!this.#isClosed) await this.result;
  }

  /** Stop receiving events. The turn continues, the loop ends, and `result` rejects with `ConnectionLost`. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isClosed = true;
    this.#stopListening.abort();
    await this.result.catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #take(): SessionEvent | undefined {
    const event = this.#events[this.#next];
    if (event !== undefined) this.#next += 1;
    else [this.#events, this.#next] = [[], 0];
    return event;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
