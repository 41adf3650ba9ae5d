/** A server of our own: `recollect rpc` as a child process, spoken to over its pipes. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { resolve } from "node:path";

import { ConnectionLost } from "./errors.js";
import { readLines, type Lines } from "./lines.js";

/** Which server to start, and in which realm it works. */
export interface SpawnOptions {
  /** The program, or the program and its first arguments. Default `recollect`, to be found on the PATH. */
  command?: string | readonly string[];
  /** The realm to work in. Without one the server makes a fresh realm, which nobody else sees. */
  realm?: string;
  /** How a new realm keeps what is in it. Default `sqlite`. */
  backend?: "sqlite" | "jsonl" | "memory";
  /** Make a fresh realm, as without `realm`. */
  isolated?: boolean;
  /** What this server calls itself in the sessions it runs. */
  instance?: string;
  /** The folder of its state. Default: as the environment says. */
  home?: string;
  /** What is another than in our environment; undefined takes a name away. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Where the server, and the agents that it runs, work. Default: where we do. */
  cwd?: string;
}

const COMPLAINT = 4_096; // characters of standard error that are kept: its end says what went wrong
const DRAIN_MS = 1_000; // for what a dead server left in its pipes; a child of its may hold them open for ever
const REST_MS = 500; // to leave in for a server that is at rest; one that runs turns is told to end them
const LEAVE_MS = 25_000; // which it does first, and writes its answers: 20 seconds at most

/** Start a server. That it cannot be started is told as the end of its lines. */
export function startServer(options: SpawnOptions = {}): Lines {
  const { command = "recollect" } = options;
  const [program = "", ...first] = typeof command === "string" ? [command] : command;
  try {
    const child = spawn(program, [...first, "rpc", ...argumentsOf(options)], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32", // Ctrl-C means us; what becomes of our server is for us to say
      windowsHide: true,
      env: environmentOf(options),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    return new ChildLines(child, program);
  } catch (error) {
    throw new ConnectionLost(`${program} cannot be started: ${(error as Error).message}`);
  }
}

function argumentsOf({ realm, backend, instance, isolated }: SpawnOptions): string[] {
  const named = { realm, "realm-backend": backend, instance };
  const given = Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  return isolated ? [...given, "--isolated"] : given;
}

function environmentOf({ env, home }: SpawnOptions): Record<string, string | undefined> {
  return { ...process.env, ...env, ...(home === undefined ? {} : { RECOLLECT_HOME: resolve(home) }) };
}

class ChildLines implements Lines {
  readonly name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #gone: Promise<ConnectionLost>;
  #complaint = "";

  constructor(child: ChildProcessWithoutNullStreams, name: string) {
    this.name = name;
    this.#child = child;
    child.stdin.on("error", () => {}); // it is gone: its exit tells why
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-COMPLAINT);
    });
    this.#gone = this.#outlived().finally(() => {
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
    });
  }

  listen(onLine: (line: string) => void, onEnd: (reason: ConnectionLost) => void): void {
    readLines(this.#child.stdout, onLine);
    this.#child.stdout.on("end", () => void this.close()); // it will say no more, and so is of no use to anybody
    void this.#gone.then(onEnd);
  }

  send(line: string): void {
    this.#child.stdin.write(line);
  }

  /** Let it leave; a server that does not want to is made to. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const told = setTimeout(() => this.#child.kill("SIGTERM"), REST_MS);
    const made = setTimeout(() => this.#child.kill("SIGKILL"), REST_MS + LEAVE_MS);
    await this.#gone;
    clearTimeout(told);
    clearTimeout(made);
  }

  /** Why it is no more, once it has exited and everything that it said was read. */
  #outlived(): Promise<ConnectionLost> {
    const child = this.#child;
    return new Promise((resolve) => {
      child.on("error", (error) => resolve(new ConnectionLost(`${this.name} cannot be started: ${error.message}`)));
      child.on("close", () => resolve(this.#end()));
      child.on("exit", () => setTimeout(() => resolve(this.#end()), DRAIN_MS).unref());
    });
  }

  #end(): ConnectionLost {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode === null ? `exited with code ${exitCode}` : `was ended by ${signalCode}`;
    const said = this.#complaint.trim();
    const last = said.split("\n").at(-1);
    const details = { exit_code: exitCode, signal: signalCode, stderr: said };
    return new ConnectionLost(`${this.name} ${how}${last ? `: ${last}` : ""}`, details);
  }
}
