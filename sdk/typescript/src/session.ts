/** A live session: run turn by turn, read, and archived. */

import { ask, shaped } from "./ask.js";
import { errorOf } from "./errors.js";
import type { SessionEvent } from "./events.js";
import type { MeerkatArchiveAnswer, MeerkatInterruptAnswer } from "./operations.js";
import { TurnStream } from "./stream.js";
import type { HistoryPage, Message, PageOptions, SessionState, TurnOptions, TurnResult } from "./types.js";
import type { EventsOptions, Listener, Wire } from "./wire.js";

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
  startTurn(prompt: string, options: TurnOptions = {}): Promise<TurnResult> {
    return this.#run(prompt, options, () => {});
  }

  /** Run one more turn, and see what happens as it happens. */
  stream(prompt: string, options: TurnOptions = {}): TurnStream {
    return new TurnStream((listener, letGo) => this.#run(prompt, options, listener, letGo));
  }

  /** Cancel the running turn, whoever runs it, and wait until it has ended; `interrupted` is false where none ran. */
  interrupt(): Promise<MeerkatInterruptAnswer> {
    return ask(this.#wire, "turn/interrupt", { session_id: this.id });
  }

  /** State and usage. Never waits for a running turn. */
  read(): Promise<SessionState> {
    return ask(this.#wire, "session/read", { session_id: this.id });
  }

  /** Some of the committed messages, oldest first; nothing of a turn that is still running. */
  history({ offset, limit }: PageOptions = {}): Promise<HistoryPage> {
    return ask(this.#wire, "session/history", { session_id: this.id, offset, limit });
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

  /**
   * The events of its turns as they run in the server, whoever asked for them, until the session is archived. Over HTTP only.
   * Where the connection breaks off, another one goes on from there; what cannot be told any more is a `stream_truncated`.
   */
  events(options: EventsOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#wire.events(this.id, options);
  }

  /** End the session for good: hidden from lists, no more turns. Its history stays. */
  archive(): Promise<MeerkatArchiveAnswer> {
    return ask(this.#wire, "session/archive", { session_id: this.id });
  }

  async #run(
    prompt: string,
    { runner, command, signal }: TurnOptions,
    listener: Listener,
    letGo?: AbortSignal,
  ): Promise<TurnResult> {
    if (signal?.aborted) throw errorOf("REQUEST_CANCELLED", "the turn was aborted before it began", {}, this.id);
    const turn = new Interruptible(this, listener);
    signal?.addEventListener("abort", turn.abort);
    try {
      const params = { session_id: this.id, prompt, runner, command: command?.slice() };
      this.#result = shaped("turn/start", await this.#wire.turn(params, turn.hear, letGo));
      return this.#result;
    } finally {
      signal?.removeEventListener("abort", turn.abort);
    }
  }
}

/** A turn that can be aborted from its first event on: before, the turn that runs may be somebody else's. */
class Interruptible {
  readonly #session: Session;
  readonly #listener: Listener;
  #hasBegun = false;
  #isAborted = false;

  constructor(session: Session, listener: Listener) {
    this.#session = session;
    this.#listener = listener;
  }

  readonly hear = (event: SessionEvent): void => {
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    this.#listener(event);
    if (isFirst && this.#isAborted) this.#interrupt();
  };

  readonly abort = (): void => {
    this.#isAborted = true;
    if (this.#hasBegun) this.#interrupt();
  };

  #interrupt(): void {
    this.#session.interrupt().catch(() => {}); // how the turn ended is told by the turn
  }
}

/** A session whose first turn has run. */
export type StartedSession = Session & { readonly result: TurnResult };

/** A session that was registered without a turn; the first `startTurn` is its first. */
export class DeferredSession extends Session {}
