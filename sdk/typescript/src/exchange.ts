/** One request over HTTP and its answer, for as long as it takes and somebody wants it. */

import { ConnectionLost } from "./errors.js";
import { SseReader, type SseMessage } from "./sse.js";

export interface Asked {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
}

export class Exchange {
  readonly #asked: Asked;
  readonly #silenceMs: number;
  readonly #stopping = new AbortController();
  readonly #underWay: Set<Exchange>;
  #reason: ConnectionLost | undefined;
  #response: Response | undefined;

  /** `underWay` holds it until it is over. A server that says nothing for `silenceMs` is gone; 0 leaves that to `fetch`. */
  constructor(asked: Asked, silenceMs: number, underWay: Set<Exchange>) {
    this.#asked = asked;
    this.#silenceMs = silenceMs;
    this.#underWay = underWay;
    underWay.add(this);
  }

  /** Nobody wants it any more. Whoever still waits for it is told the reason. */
  stop(reason: ConnectionLost): void {
    this.#reason ??= reason;
    this.#underWay.delete(this);
    this.#stopping.abort();
  }

  /** Ask, and wait until the answer begins. */
  async begin(): Promise<Response> {
    const { url, method, headers, body } = this.#asked;
    const init = { method, headers, signal: this.#stopping.signal, ...(body === undefined ? {} : { body }) };
    this.#response = await this.#heard(() => fetch(url, init));
    return this.#response;
  }

  /** All of the answer. */
  async text(): Promise<string> {
    const pieces: string[] = [];
    for await (const piece of this.#pieces()) pieces.push(piece);
    return pieces.join("");
  }

  /** The answer as a stream of events, until its end. To leave the loop lets go of the rest. */
  async *messages(): AsyncGenerator<SseMessage, void, undefined> {
    const reader = new SseReader();
    for await (const piece of this.#pieces()) yield* reader.push(piece);
  }

  async *#pieces(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    const body = this.#response?.body?.getReader();
    try {
      for (let isOver = body === undefined; body !== undefined && !isOver; ) {
        const { done, value } = await this.#heard(() => body.read());
        isOver = done;
        yield value === undefined ? decoder.decode() : decoder.decode(value, { stream: true });
      }
      this.#underWay.delete(this);
    } finally {
      if (this.#underWay.has(this)) this.stop(new ConnectionLost("nobody reads on"));
    }
  }

  /** What comes next, unless nothing does for too long. */
  async #heard<T>(next: () => Promise<T>): Promise<T> {
    const silent = () => this.stop(this.#lost(`has said nothing for ${this.#silenceMs / 1000} s`));
    const patience = this.#silenceMs > 0 ? setTimeout(silent, this.#silenceMs) : undefined;
    try {
      return await next();
    } catch (error) {
      this.#underWay.delete(this);
      throw this.#reason ?? this.#lost(whatBefell(error));
    } finally {
      clearTimeout(patience);
    }
  }

  #lost(how: string): ConnectionLost {
    return new ConnectionLost(`${new URL(this.#asked.url).origin} ${how}`);
  }
}

/** `fetch` says only that it failed; why is in the cause, which for a name with several addresses has causes of its own. */
function whatBefell(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  const why = inner instanceof Error ? inner.message || inner.name : String(inner);
  const { syscall, code } = Object(inner) as { syscall?: unknown; code?: unknown };
  const isUnreached = ["connect", "getaddrinfo"].includes(String(syscall)) || code === "UND_ERR_CONNECT_TIMEOUT";
  return isUnreached ? `cannot be reached: ${why}` : `was there, and the connection was lost: ${why}`;
}
