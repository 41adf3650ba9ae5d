/** A live session: run turns, read its messages, archive it. */

import { call, checked } from "./responses.js";
import { errorOf } from "./errors.js";
import type { SessionEvent } from "./events.js";
import type { MeerkatArchiveAnswer, MeerkatInterruptAnswer } from "./operations.js";
import { TurnStream } from "./turn-stream.js";
import type { HistoryPage, Message, PageOptions, SessionState, TurnOptions, TurnResult } from "./types.js";
import type { EventsOptions, Listener, Transport } from "./transport.js";

const MAX_PAGE_SIZE = 1_000; // messages in one page: the server's own limit

/** A session of the realm. */
export class Session {
  /** The session's UUID. */
  readonly id: string;
  readonly #transport: Transport;
  #result: TurnResult | undefined;

  /** @internal `Client` creates these. */
  constructor(transport: Transport, id: string, result?: TurnResult) {
    this.#transport = transport;
    this.id = id;
    this.#result = result;
  }

  /** The result of the last turn that completed through this object. Undefined before that. */
  get result(): TurnResult | undefined {
    return this.#result;
  }

  /** Run a turn and wait for its result. Rejects with `SessionBusy` at once if a turn of the session is already running. */
  startTurn(prompt: string, options: TurnOptions = {}): Promise<TurnResult> {
    return this.#run(prompt, options, () => {});
  }

  /** Run a turn and iterate over its events as they happen. */
  stream(prompt: string, options: TurnOptions = {}): TurnStream {
    return new TurnStream((listener, stopListening) => this.#run(prompt, options, listener, stopListening));
  }

  /** Cancel the running turn, also of another client, and wait for its end. `interrupted` is false if none ran. */
  interrupt(): Promise<MeerkatInterruptAnswer> {
    return call(this.#transport, "turn/interrupt", { session_id: this.id });
  }

  /** The session's state and usage. Does not wait for a running turn. */
  read(): Promise<SessionState> {
    return call(this.#transport, "session/read", { session_id: this.id });
  }

  /** One page of the committed messages, oldest first. A running turn is not included. */
  history({ offset, limit }: PageOptions = {}): Promise<HistoryPage> {
    return call(this.#transport, "session/history", { session_id: this.id, offset, limit });
  }

  /** All committed messages, oldest first, fetched page by page. */
  async *messages(pageSize = MAX_PAGE_SIZE): AsyncGenerator<Message, void, undefined> {
    let offset = 0;
    for (let hasMore = true; hasMore; ) {
      const page = await this.history({ offset, limit: pageSize });
      yield* page.messages;
      offset += page.messages.length;
      hasMore = page.has_more;
    }
  }

  /**
   * Events of all turns, also of other clients, until the session is archived. Over HTTP only. After a broken connection
   * it continues where it stopped. Events that the server no longer has become one `stream_truncated`.
   */
  events(options: EventsOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#transport.events(this.id, options);
  }

  /** Archive the session: it is hidden from lists and runs no more turns. Its history stays readable. */
  archive(): Promise<MeerkatArchiveAnswer> {
    return call(this.#transport, "session/archive", { session_id: this.id });
  }

  async #run(
    prompt: string,
    { runner, command, signal }: TurnOptions,
    listener: Listener,
    stopListening?: AbortSignal,
  ): Promise<TurnResult> {
    if (signal?.aborted) throw errorOf("REQUEST_CANCELLED", "the turn was aborted before it began", {}, this.id);
    const turn = new AbortableTurn(this, listener);
    signal?.addEventListener("abort", turn.abort);
    try {
      const params = { session_id: this.id, prompt, runner, command: command?.slice() };
      this.#result = checked("turn/start", await this.#transport.runTurn(params, turn.receive, stopListening));
      return this.#result;
    } finally {
      signal?.removeEventListener("abort", turn.abort);
    }
  }
}

/** Interrupts a turn when it is aborted, but not before its first event: until then another client's turn may be running. */
class AbortableTurn {
  readonly #session: Session;
  readonly #listener: Listener;
  #hasStarted = false;
  #isAborted = false;

  constructor(session: Session, listener: Listener) {
    this.#session = session;
    this.#listener = listener;
  }

  readonly receive = (event: SessionEvent): void => {
    const isFirst = !this.#hasStarted;
    this.#hasStarted = true;
    this.#listener(event);
    if (isFirst && this.#isAborted) this.#interrupt();
  };

  readonly abort = (): void => {
    this.#isAborted = true;
    if (this.#hasStarted) this.#interrupt();
  };

  #interrupt(): void {
    this.#session.interrupt().catch(() => {}); // the turn's own promise reports how it ended
  }
}

/** A session whose first turn has run. */
export type StartedSession = Session & { readonly result: TurnResult };

/** A session that was created without a turn. Its first `startTurn` runs its first turn. */
export class DeferredSession extends Session {}
