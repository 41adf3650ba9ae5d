/** A turn while it runs. */

import type { SessionEvent } from "./events.js";
import type { TurnResult } from "./types.js";
import type { Listener } from "./wire.js";

/**
 * The events of a turn, and what it comes to:
 *
 *     const turn = session.stream("And then?");
 *     for await (const event of turn) …
 *     const { text } = await turn.result;
 *
 * A turn that does not complete ends the loop with its error, after its last event; `result` rejects with the same.
 * It runs whether or not anybody looks: to leave the loop early does not end it, `session.interrupt()` does. What was not
 * looked at yet is kept; a turn says 32 million characters at most.
 */
export class TurnStream implements AsyncIterable<SessionEvent>, AsyncDisposable {
  /** What the turn came to. */
  readonly result: Promise<TurnResult>;
  #events: SessionEvent[] = []; // those before #next have been looked at
  #next = 0;
  #isOver = false;
  #isClosed = false;
  readonly #letGo = new AbortController();
  #waiting: (() => void)[] = [];

  /** @internal `start` runs the turn; its promise settles after the last event, or when it is let go of. */
  constructor(start: (listener: Listener, letGo: AbortSignal) => Promise<TurnResult>) {
    const hear = (event: SessionEvent) => {
      if (this.#isClosed) return;
      this.#events.push(event);
      this.#wake();
    };
    this.result = start(hear, this.#letGo.signal).finally(() => {
      this.#isOver = true;
      this.#wake();
    });
    this.result.catch(() => {}); // whoever only loops is told by the loop
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

  /** Stop listening. The turn goes on; its `result` is `ConnectionLost` here, and the loop ends. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isClosed = true;
    this.#letGo.abort();
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
