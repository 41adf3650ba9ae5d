/** A live session: run turn by turn, read, and archived. */

import type { MeerkatArchiveAnswer, MeerkatInterruptAnswer } from "./operations.js";
import { TurnStream } from "./stream.js";
import type { HistoryPage, Message, PageOptions, RunnerOptions, SessionState, TurnResult } from "./types.js";
import type { Listener, Wire } from "./wire.js";

const LARGEST_PAGE = 1_000; // messages at once, the most that a server gives

export class Session {
  /** The session's UUID. */
  readonly id: string;
  readonly #wire: Wire;
  #result: TurnResult | undefined;

  /** @internal Sessions come from a `Client`. */
  constructor(wire: Wire, id: string, result?: TurnResult) {
    this.#wire = wire;
    this.id = id;
    this.#result = result;
  }

  /** What the last turn came to that completed here; undefined where none has. */
  get result(): TurnResult | undefined {
    return this.#result;
  }

  /** Run one more turn, to its end. `SessionBusy` at once while one is running, here or anywhere. */
  startTurn(prompt: string, options: RunnerOptions = {}): Promise<TurnResult> {
    return this.#run(prompt, options, () => {});
  }

  /** Run one more turn, and see what happens as it happens. */
  stream(prompt: string, options: RunnerOptions = {}): TurnStream {
    return new TurnStream((listener) => this.#run(prompt, options, listener));
  }

  /** Cancel the running turn, whoever runs it, and wait until it has ended; `interrupted` is false where none ran. */
  interrupt(): Promise<MeerkatInterruptAnswer> {
    return this.#wire.call("turn/interrupt", { session_id: this.id });
  }

  /** State and usage. Never waits for a running turn. */
  read(): Promise<SessionState> {
    return this.#wire.call("session/read", { session_id: this.id });
  }

  /** Some of the committed messages, oldest first; nothing of a turn that is still running. */
  history({ offset, limit }: PageOptions = {}): Promise<HistoryPage> {
    return this.#wire.call("session/history", { session_id: this.id, offset, limit });
  }

  /** All committed messages, oldest first, fetched page by page. */
  async *messages(pageSize = LARGEST_PAGE): AsyncGenerator<Message, void, undefined> {
    let offset = 0;
    for (let hasMore = true; hasMore; ) {
      const page = await this.history({ offset, limit: pageSize });
      yield* page.messages;
      offset += page.messages.length;
      hasMore = page.has_more;
    }
  }

  /** End the session for good: hidden from lists, no more turns. Its history stays. */
  archive(): Promise<MeerkatArchiveAnswer> {
    return this.#wire.call("session/archive", { session_id: this.id });
  }

  async #run(prompt: string, { runner, command }: RunnerOptions, listener: Listener): Promise<TurnResult> {
    const params = { session_id: this.id, prompt, runner, command: command?.slice() };
    this.#result = await this.#wire.turn(params, listener);
    return this.#result;
  }
}

/** A session whose first turn has run. */
export type StartedSession = Session & { readonly result: TurnResult };

/** A session that was registered without a turn; the first `startTurn` is its first. */
export class DeferredSession extends Session {}
