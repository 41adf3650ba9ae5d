/** Real servers for every transport, each with its own state folder; and waiting for what they do. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Client } from "recollect-client";

/** The command that starts Recollect. */
export const COMMAND = JSON.parse(process.env["RECOLLECT_COMMAND"] ?? '["recollect"]');
export const ABSENT = "01a00000-0000-7000-8000-000000000000";
export const TOKEN = "a token that nobody guesses".replaceAll(" ", "-");
const PATIENCE_MS = 30_000; // far beyond what anything takes on a busy machine
const WITH_PID_FILE = ["sh", "-c", 'echo $$ > "$PID_FILE" && exec "$@"', "sh"]; // runs a program and writes down its process id

/** Wait until a condition holds, and return its value. */
export async function until(condition) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`this did not happen in time: ${condition}`);
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const cleanups = new WeakMap();

/** Run this after the test, last registered first, so that a server ends before its folder is removed. */
export function later(t, end) {
  const ends = cleanups.get(t) ?? [];
  if (!cleanups.has(t)) {
    cleanups.set(t, ends);
    t.after(async () => {
      while (ends.length > 0) await ends.pop()();
    });
  }
  ends.push(end);
}

/** A folder that is removed after the test. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "recollect-"));
  later(t, () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** A program that starts to answer and waits until it is released, or the test is over: its server may have been killed. */
export function held(t) {
  const place = folder(t);
  const wait = `echo began; while [ -d '${place}' ] && [ ! -e '${place}/gate' ]; do sleep 0.02; done; echo ended`;
  return { command: ["sh", "-c", wait], release: () => writeFileSync(join(place, "gate"), "") };
}

function environment(home, more) {
  return { ...process.env, HOME: home, RECOLLECT_HOME: join(home, "state"), ...more };
}

/** A server over pipes: `Client.spawn`. */
async function overPipes(t) {
  const home = folder(t);
  const pidFile = join(home, "pid");
  const env = environment(home, { PID_FILE: pidFile });
  const client = await Client.spawn({ command: [...WITH_PID_FILE, ...COMMAND], env });
  later(t, () => client.close());
  return { client, pid: Number(readFileSync(pidFile, "utf8")), script: { spawn: { command: COMMAND, env } } };
}

/** A server that prints in its first line where it listens. */
async function listening(t, args, more) {
  const [program, ...first] = COMMAND;
  const stdio = ["ignore", "pipe", "inherit"];
  const home = folder(t);
  const child = spawn(program, [...first, ...args], { env: environment(home, more), stdio });
  later(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, "exit");
  });
  const [line] = await once(createInterface(child.stdout), "line");
  return { pid: child.pid, line, token: more?.RECOLLECT_TOKEN ?? readFileSync(join(home, "state", "token"), "utf8").trim(), home };
}

/** A server on a port: `Client.connect`. */
export async function overTcp(t, given) {
  const { pid, line, token, home } = await listening(t, ["rpc", "--port", "0"], given && { RECOLLECT_TOKEN: given });
  const where = { port: Number(/:(\d+)\s*$/.exec(line)[1]), token };
  const client = await Client.connect(where);
  later(t, () => client.close());
  return { client, pid, where, home, script: { connect: where } };
}

/** A server over HTTP: `Client.http`. */
export async function overHttp(t, given) {
  const args = ["serve", "--host", "127.0.0.1", "--port", "0", "--no-sync", "--json"];
  const { pid, line, token, home } = await listening(t, args, given && { RECOLLECT_TOKEN: given });
  const where = { url: JSON.parse(line).url, token };
  const client = await Client.http(where);
  later(t, () => client.close());
  return { client, pid, where, home, script: { http: where } };
}

/** A server of the caller's own archive, over HTTP and TCP. */
export async function serveLibrary() {
  const [program, ...first] = COMMAND;
  const child = spawn(program, [...first, "serve", "--port", "0", "--no-sync", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  const { url, rpc } = JSON.parse(line);
  const token = readFileSync(join(process.env["RECOLLECT_HOME"], "token"), "utf8").trim();
  const end = async () => {
    child.kill();
    await once(child, "exit");
  };
  return { url, port: Number(rpc.split(":").at(-1)), token, end };
}

/** A server's description of itself, and the result of a turn. */
export const HELLO = { name: "recollect", version: "0", realm_id: "r", instance_id: "i", backend: "sqlite", methods: [] };
const TOKENS = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "total_tokens"];
const usage = Object.fromEntries(TOKENS.map((name) => [name, 0]));
export const RAN = { session_id: "s", text: "t", usage, turns: 1, tool_calls: 0, stop_reason: "end_turn" };
export const CONFIG = { config: {}, generation: 3, realm_id: "r", instance_id: "i", backend: "sqlite" };

export const TRANSPORTS = { stdio: overPipes, tcp: overTcp, http: overHttp };

/** All events of a loop, and the error it ended with. */
export async function collect(events) {
  const all = [];
  try {
    for await (const event of events) all.push(event);
  } catch (error) {
    return { events: all, error };
  }
  return { events: all };
}
