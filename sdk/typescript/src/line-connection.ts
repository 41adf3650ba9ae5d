/** Connections that carry one message per line; the one over TCP. */

import { connect, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

import { ConnectionLost } from "./errors.js";

export const LOCALHOST = "127.0.0.1";

export interface LineConnection {
  /** The name of the other end, for error messages. */
  readonly name: string;
  /** Receive all lines, then the end. Call it once, before anything can arrive. */
  listen(onLine: (line: string) => void, onEnd: (reason: ConnectionLost) => void): void;
  send(line: string): void;
  close(): Promise<void>;
}

/** Split a stream into lines. A last line without a line feed is incomplete and is dropped. */
export function readLines(from: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let pieces: string[] = []; // of the current line: joined once, because a line may have many
  from.on("data", (chunk: Buffer) => {
    const [first = "", ...rest] = decoder.write(chunk).split("\n");
    pieces.push(first);
    for (const next of rest) {
      onLine(pieces.join(""));
      pieces = [next];
    }
  });
}

/** The address of a running server. */
export interface ConnectOptions {
  /** Default: `127.0.0.1`. */
  host?: string;
  port: number;
  /** The server's token. The token of a server on this machine is found automatically. */
  token?: string;
}

/** Connect to a server. If there is none, the connection ends at once. */
export function connectTcp({ host = LOCALHOST, port }: Omit<ConnectOptions, "token">): LineConnection {
  const name = `${host}:${port}`;
  try {
    return new TcpConnection(connect({ host, port, noDelay: true }), name);
  } catch (error) {
    throw new ConnectionLost(`${name}: ${(error as Error).message}`); // the port number is not valid
  }
}

class TcpConnection implements LineConnection {
  readonly name: string;
  readonly #socket: Socket;
  readonly #ended: Promise<ConnectionLost>;

  constructor(socket: Socket, name: string) {
    this.name = name;
    this.#socket = socket;
    let reason = "the server closed the connection";
    socket.on("error", (error) => {
      reason = error.message;
    });
    this.#ended = new Promise((resolve) => {
      socket.on("close", () => resolve(new ConnectionLost(`${name}: ${reason}`)));
    });
  }

  listen(onLine: (line: string) => void, onEnd: (reason: ConnectionLost) => void): void {
    readLines(this.#socket, onLine);
    void this.#ended.then(onEnd);
  }

  send(line: string): void {
    this.#socket.write(line);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await this.#ended;
  }
}
