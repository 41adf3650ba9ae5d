/** A server that runs already, over TCP. */

import { connect, type Socket } from "node:net";

import { ConnectionLost } from "./errors.js";
import { readLines, type Lines } from "./lines.js";

export const LOCALHOST = "127.0.0.1";

/** Where a server listens. */
export interface ConnectOptions {
  /** Default `127.0.0.1`. */
  host?: string;
  port: number;
  /** The server's token. That of a server on this machine is found without being given. */
  token?: string;
}

/** Connect to a server. That there is none is told as the end of its lines. */
export function connectTo({ host = LOCALHOST, port }: Omit<ConnectOptions, "token">): Lines {
  const name = `${host}:${port}`;
  try {
    return new SocketLines(connect({ host, port, noDelay: true }), name);
  } catch (error) {
    throw new ConnectionLost(`${name}: ${(error as Error).message}`); // there is no such port
  }
}

class SocketLines implements Lines {
  readonly name: string;
  readonly #socket: Socket;
  readonly #gone: Promise<ConnectionLost>;

  constructor(socket: Socket, name: string) {
    this.name = name;
    this.#socket = socket;
    let why = "the server closed the connection";
    socket.on("error", (error) => {
      why = error.message;
    });
    this.#gone = new Promise((resolve) => {
      socket.on("close", () => resolve(new ConnectionLost(`${name}: ${why}`)));
    });
  }

  listen(onLine: (line: string) => void, onEnd: (reason: ConnectionLost) => void): void {
    readLines(this.#socket, onLine);
    void this.#gone.then(onEnd);
  }

  send(line: string): void {
    this.#socket.write(line);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await this.#gone;
  }
}
