/** One HTTP request and its response, which can be stopped at any time. */

import { ConnectionLost } from "./errors.js";
import { SseReader, type SseMessage } from "./sse.js";

export interface RequestInfo {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
}

/** A request and its response. */
export class HttpRequest {
  readonly #request: RequestInfo;
  readonly #silenceMs: number;
  readonly #stopping = new AbortController();
  readonly #running: Set<HttpRequest>;
  #reason: ConnectionLost | undefined;
  #response: Response | undefined;

  /** `running` holds the request until it ends. If nothing arrives for `silenceMs`, it fails; 0 leaves that to `fetch`. */
  constructor(request: RequestInfo, silenceMs: number, running: Set<HttpRequest>) {
    this.#request = request;
    this.#silenceMs = silenceMs;
    this.#running = running;
    running.add(this);
  }

  /** Stop the request. Waiting calls fail with the reason. */
  stop(reason: ConnectionLost): void {
    this.#reason ??= reason;
    this.#running.delete(this);
    this.#stopping.abort();
  }

  /** Send the request and wait for the head of its response. */
  async send(): Promise<Response> {
    const { url, method, headers, body } = this.#request;
    const init = { method, headers, signal: this.#stopping.signal, ...(body === undefined ? {} : { body }) };
    this.#response = await this.#withTimeout(() => fetch(url, init));
    return this.#response;
  }

  /** The complete body. */
  async text(): Promise<string> {
    const pieces: string[] = [];
    for await (const piece of this.pieces()) pieces.push(piece);
    return pieces.join("");
  }

  /** The body as Server-Sent Events. Leaving the loop stops the request. */
  async *messages(): AsyncGenerator<SseMessage, void, undefined> {
    const reader = new SseReader();
    for await (const piece of this.pieces()) yield* reader.push(piece);
  }

  /** The body as it arrives. Leaving the loop stops the request. */
  async *pieces(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    const body = this.#response?.body?.getReader();
    try {
      for (let isDone = body === undefined; body !== undefined && !isDone; ) {
        const { done, value } = await this.#withTimeout(() => body.read());
        isDone = done;
        yield value === undefined ? decoder.decode() : decoder.decode(value, { stream: true });
      }
      this.#running.delete(this);
    } finally {
      if (this.#running.has(this)) this.stop(new ConnectionLost("the response was not read to its end"));
    }
  }

  /** Wait for the next part of the response, at most `silenceMs`. */
  async #withTimeout<T>(next: () => Promise<T>): Promise<T> {
    const onSilence = () => this.stop(this.#lost(`sent nothing for ${this.#silenceMs / 1000} s`));
    const timer = this.#silenceMs > 0 ? setTimeout(onSilence, this.#silenceMs) : undefined;
    try {
      return await next();
    } catch (error) {
      this.#running.delete(this);
      throw this.#reason ?? this.#lost(describe(error));
    } finally {
      clearTimeout(timer);
    }
  }

  #lost(how: string): ConnectionLost {
    return new ConnectionLost(`${new URL(this.#request.url).origin} ${how}`);
  }
}

/** The reason of a failure. `fetch` puts it into `cause`, which has its own `errors` if the host has several addresses. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  const reason = inner instanceof Error ? inner.message || inner.name : String(inner);
  const { syscall, code } = Object(inner) as { syscall?: unknown; code?: unknown };
  const isUnreachable = ["connect", "getaddrinfo"].includes(String(syscall)) || code === "UND_ERR_CONNECT_TIMEOUT";
  return isUnreachable ? `cannot be reached: ${reason}` : `dropped the connection: ${reason}`;
}
