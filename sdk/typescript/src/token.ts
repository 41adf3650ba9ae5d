/** Finds the token of a server on this machine, where the server stores it. */

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { ConnectionLost } from "./errors.js";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;
const SOCKET_TABLES = ["/proc/net/tcp", "/proc/net/tcp6"]; // only Linux has them
const LISTENING = "0A";
const ROOT = 0; // root can read every token anyway

/**
 * The token for an address of this machine: `RECOLLECT_TOKEN`, else the one in the state folder.
 * While our server is down, another user's program may listen at its address. It must not get the token.
 */
export function findToken(host: string, port: number): string | undefined {
  if (!LOOPBACK.test(host)) return undefined;
  const token = process.env["RECOLLECT_TOKEN"] || readText(join(stateFolder(), "token"))?.trim() || undefined;
  if (token && isForeign(port)) {
    throw new ConnectionLost(`${host}:${port} belongs to another user of this machine, so the token was not sent to it`);
  }
  return token;
}

/** The folder in which Recollect stores its data. */
function stateFolder(): string {
  const { RECOLLECT_HOME: home, XDG_DATA_HOME: data } = process.env;
  if (home) return home.replace(/^~(?=\/|$)/, homedir());
  if (process.platform === "darwin") return join(homedir(), "Library/Application Support/recollect");
  return join(data?.startsWith("/") ? data : join(homedir(), ".local/share"), "recollect");
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new ConnectionLost(`the token of the server cannot be read: ${(error as Error).message}`);
  }
}

/** Whether a program of another user listens on this port. */
function isForeign(port: number): boolean {
  const rows = SOCKET_TABLES.flatMap((table) => (readText(table) ?? "").split("\n").slice(1)).map((line) => line.trim().split(/\s+/));
  const users = rows
    .filter(([, local, , state]) => state === LISTENING && parseInt(local?.split(":")[1] ?? "", 16) === port)
    .map((row) => Number(row[7]));
  return users.some((user) => user !== ROOT && user !== process.getuid?.());
}
