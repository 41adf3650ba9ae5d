/** A server that this client starts: `recollect rpc` as a child process, connected by its pipes. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { resolve } from "node:path";

import { ConnectionLost } from "./errors.js";
import { readLines, type LineConnection } from "./line-connection.js";

/** Which server to start, and in which realm it works. */
export interface SpawnOptions {
  /** The program, or the program and its first arguments. Default: `recollect`, found on the PATH. */
  command?: string | readonly string[];
  /** The realm to work in. Default: a new realm that no other client sees. */
  realm?: string;
  /** How a new realm stores its data. Default: `sqlite`. */
  backend?: "sqlite" | "jsonl" | "memory";
  /** Create a new realm, as without `realm`. */
  isolated?: boolean;
  /** The name of this server in the sessions it runs. */
  instance?: string;
  /** The state folder. Default: from the environment. */
  home?: string;
  /** Changes to our environment; undefined removes a variable. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The working folder of the server and of the agents that it runs. Default: ours. */
  cwd?: string;
}

const STDERR_CHARS = 4_096; // of standard error that are stored: its end says what went wrong
const DRAIN_MS = 1_000; // to read the rest of a dead server's output; a child process of it may hold the pipes open for ever
const IDLE_EXIT_MS = 500; // an idle server exits within this when its input closes; a busy one then gets SIGTERM
const EXIT_TIMEOUT_MS = 25_000; // a server first ends its turns and sends its responses, which takes at most 20 seconds

/** Start a server. If it cannot be started, the connection ends at once. */
export function startServer(options: SpawnOptions = {}): LineConnection {
  const { command = "recollect" } = options;
  const [program = "", ...first] = typeof command === "string" ? [command] : command;
  try {
    const child = spawn(program, [...first, "rpc", ...argumentsOf(options)], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32", // Ctrl-C goes to our program only, which decides when its server ends
      windowsHide: true,
      env: environmentOf(options),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    return new ChildConnection(child, program);
  } catch (error) {
    throw new ConnectionLost(`${program} cannot be started: ${(error as Error).message}`);
  }
}

function argumentsOf({ realm, backend, instance, isolated }: SpawnOptions): string[] {
  const named = { realm, "realm-backend": backend, instance };
  const words = Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  return isolated ? [...words, "--isolated"] : words;
}

function environmentOf({ env, home }: SpawnOptions): Record<string, string | undefined> {
  return { ...process.env, ...env, ...(home === undefined ? {} : { RECOLLECT_HOME: resolve(home) }) };
}

class ChildConnection implements LineConnection {
  readonly name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<ConnectionLost>;
  #stderr = "";

  constructor(child: ChildProcessWithoutNullStreams, name: string) {
    this.name = name;
    this.#child = child;
    child.stdin.on("error", () => {}); // the server is gone; its exit says why
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS);
    });
    this.#ended = this.#waitEnded().finally(() => {
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
    });
  }

  listen(onLine: (line: string) => void, onEnd: (reason: ConnectionLost) => void): void {
    readLines(this.#child.stdout, onLine);
    this.#child.stdout.on("end", () => void this.close()); // a server that has closed its output is useless
    void this.#ended.then(onEnd);
  }

  send(line: string): void {
    this.#child.stdin.write(line);
  }

  /** Close the server's input and wait for its exit. A server that does not exit gets SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const terminating = setTimeout(() => this.#child.kill("SIGTERM"), IDLE_EXIT_MS);
    const killing = setTimeout(() => this.#child.kill("SIGKILL"), IDLE_EXIT_MS + EXIT_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(terminating);
    clearTimeout(killing);
  }

  /** Why the server ended. Resolves when it has exited and its output was read. */
  #waitEnded(): Promise<ConnectionLost> {
    const child = this.#child;
    return new Promise((resolve) => {
      child.on("error", (error) => resolve(new ConnectionLost(`${this.name} cannot be started: ${error.message}`)));
      child.on("close", () => resolve(this.#exitError()));
      child.on("exit", () => setTimeout(() => resolve(this.#exitError()), DRAIN_MS).unref());
    });
  }

  #exitError(): ConnectionLost {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode === null ? `exited with code ${exitCode}` : `was ended by ${signalCode}`;
    const stderr = this.#stderr.trim();
    const lastLine = stderr.split("\n").at(-1);
    const details = { exit_code: exitCode, signal: signalCode, stderr };
    return new ConnectionLost(`${this.name} ${how}${lastLine ? `: ${lastLine}` : ""}`, details);
  }
}
