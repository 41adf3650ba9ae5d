/** How a connection starts and ends: servers that die, send nonsense or refuse access, and clients that close. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { Client, ConnectionLost, InternalError, InvalidParams, RecollectError, Unauthorized } from "recollect-client";

import { COMMAND, CONFIG, folder, collect, held, HELLO, isAlive, later, overHttp, overTcp, RAN, TOKEN, until, TRANSPORTS } from "./servers.mjs";

const LIMIT = { timeout: 60_000 };

async function firstOutput(session) {
  for await (const { type } of session.events({ after: 0 })) if (type === "text_delta") return;
}

for (const [name, open] of Object.entries(TRANSPORTS)) {
  test(`killing the server fails every waiting call, over ${name}`, LIMIT, async (t) => {
    const { client, pid } = await open(t);
    const session = await client.createDeferredSession(held(t));
    const turn = session.stream("wait");
    const loop = collect(turn);
    await turn[Symbol.asyncIterator]().next();
    const create = client.createSession({ prompt: "wait", ...held(t) }).catch((reason) => reason);
    const isCreated = ({ session_id, is_active }) => is_active && session_id !== session.id;
    const created = await until(async () => (await client.listSessions()).find(isCreated));
    if (name === "http") await firstOutput(client.session(created.session_id)); // by then its events have named it to the client
    process.kill(pid, "SIGKILL");
    const { error } = await loop;
    assert.ok(error instanceof ConnectionLost, String(error));
    assert.equal(error.code, "CONNECTION_LOST");
    assert.doesNotMatch(error.message, /cannot be reached/);
    assert.ok((await create) instanceof ConnectionLost);
    if (name === "http") assert.match((await create).sessionId, /^[0-9a-f-]{36}$/); // from its events
    const isLost = (reason) => reason instanceof ConnectionLost && reason.sessionId === session.id;
    await assert.rejects(turn.result, isLost);
    await assert.rejects(session.read(), isLost);
  });

  test(`closing the client fails every waiting call, over ${name}`, LIMIT, async (t) => {
    const { client } = await open(t);
    const session = await client.createDeferredSession(held(t));
    const turn = session.stream("wait");
    await turn[Symbol.asyncIterator]().next();
    const closing = client.close();
    await assert.rejects(turn.result, ConnectionLost);
    await closing;
    await client.close();
    await assert.rejects(session.read(), /closed/);
    await assert.rejects(client.callTool("meerkat_list", {}), ConnectionLost);
  });

  test(`a finished program can exit, over ${name}`, LIMIT, async (t) => {
    const { script } = await open(t);
    const program = `
      import { Client } from "recollect-client";
      const [[how, where]] = Object.entries(${JSON.stringify(script)});
      const client = await Client[how](where);
      const session = await client.createSession({ prompt: "hello", command: ["cat"] });
      const { text } = session.result;
      for await (const event of session.stream("again", { command: ["cat"] })) if (event.type === "text_delta") break;
      if (how !== "http") await client.close();
      console.log(text);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (text) => (said += text));
    const [code] = await once(child, "close");
    assert.deepEqual([code, said], [0, "hello\n"]);
  });
}

test("close ends the server that was started", LIMIT, async (t) => {
  const { client, pid } = await TRANSPORTS.stdio(t);
  assert.equal(client.server.backend, "sqlite");
  assert.match(client.server.realm_id, /^realm-/);
  assert.ok(client.server.methods.includes("session/create"));
  assert.ok(isAlive(pid));
  await client.close();
  assert.ok(!isAlive(pid));
});

test("a spawned server ends with its program, however that ends", LIMIT, async (t) => {
  const pidFile = join(folder(t), "pid");
  const command = ["sh", "-c", `echo $$ > '${pidFile}' && exec "$@"`, "sh", ...COMMAND];
  const program = `
    import { Client } from "recollect-client";
    const client = await Client.spawn(${JSON.stringify({ command })});
    client.createSession({ prompt: "x", command: ["sleep", "60"] });
    await client.listSessions();
    process.kill(process.pid, "SIGKILL");`;
  const env = { ...process.env, RECOLLECT_HOME: folder(t) };
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { env, stdio: "ignore" });
  const [, how] = await once(child, "exit");
  assert.equal(how, "SIGKILL");
  await until(() => !isAlive(Number(readFileSync(pidFile, "utf8"))));
});

test("disposing of a client closes it", LIMIT, async (t) => {
  const { client, pid } = await TRANSPORTS.stdio(t);
  await client[Symbol.asyncDispose]();
  assert.ok(!isAlive(pid));
});

test("a server that cannot start says why", LIMIT, async (t) => {
  const env = { ...process.env, RECOLLECT_HOME: folder(t) };
  const error = await Client.spawn({ command: COMMAND, env, realm: "not a realm" }).catch((reason) => reason);
  assert.ok(error instanceof ConnectionLost, String(error));
  assert.equal(error.details.exit_code, 2);
  assert.match(error.message, /not a realm/);
});

test("the realm, the instance and the backend are as requested", LIMIT, async (t) => {
  const env = { ...process.env, RECOLLECT_HOME: folder(t) };
  const options = { command: COMMAND, env, realm: "north", backend: "jsonl", instance: "helm", cwd: folder(t) };
  const client = await Client.spawn(options);
  later(t, () => client.close());
  const { realm_id, instance_id, backend } = await (await client.createDeferredSession()).read();
  assert.deepEqual([realm_id, instance_id, backend], ["north", "helm", "jsonl"]);
  await assert.rejects(Client.spawn({ ...options, isolated: true }), /not both/);
});

test("a spawned server has our environment with the given changes, and its state folder", LIMIT, async (t) => {
  Object.assign(process.env, { FROM_US: "ours", TAKEN_AWAY: "secret" });
  later(t, () => ["FROM_US", "TAKEN_AWAY"].forEach((name) => delete process.env[name]));
  const home = folder(t);
  const env = { ADDED: "more", TAKEN_AWAY: undefined };
  const client = await Client.spawn({ command: COMMAND, home, env, isolated: true });
  later(t, () => client.close());
  const command = ["sh", "-c", 'echo "$FROM_US, $ADDED, ${TAKEN_AWAY-none}"'];
  assert.equal((await client.createSession({ prompt: "x", command })).result.text, "ours, more, none\n");
  assert.equal((await client.realm(client.server.realm_id)).folder, join(home, "realms", client.server.realm_id));
});

test("a server that cannot be reached is a lost connection", LIMIT, async (t) => {
  const port = await new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
  await assert.rejects(Client.spawn({ command: join(folder(t), "nothing") }), /cannot be started/);
  const isLost = (error) => error instanceof ConnectionLost;
  await assert.rejects(Client.spawn({ command: [] }), isLost);
  await assert.rejects(Client.spawn({ command: "a\0b" }), isLost);
  await assert.rejects(Client.connect({ port: 99_999 }), isLost);
  await assert.rejects(Client.connect({ port }), (error) => error instanceof ConnectionLost && /ECONNREFUSED/.test(error.message));
  await assert.rejects(Client.http({ url: `http://127.0.0.1:${port}` }), (error) => {
    return isLost(error) && /cannot be reached: .*ECONNREFUSED/.test(error.message);
  });
  for (const url of ["nonsense", "ftp://127.0.0.1", "http://127.0.0.1?a=b"]) await assert.rejects(Client.http({ url }), TypeError, url);
  await assert.rejects(Client.http({ url: "http://localhost", token: "two words" }), TypeError);
});

// ---- tokens

test("a token gives access over TCP", LIMIT, async (t) => {
  const { client, where } = await overTcp(t, TOKEN);
  assert.deepEqual(await client.listSessions(), []);
  await assert.rejects(Client.connect({ port: where.port }), Unauthorized);
  await assert.rejects(Client.connect({ port: where.port, token: "another-token-altogether" }), Unauthorized);
});

test("a token gives access over HTTP", LIMIT, async (t) => {
  const { client, where } = await overHttp(t, TOKEN);
  assert.deepEqual(await client.listSessions(), []);
  assert.equal((await client.createSession({ prompt: "x", command: ["cat"] })).result.text, "x");
  assert.equal(client.server.realm_id, (await client.configGet()).realm_id);
  const others = [await Client.http({ url: where.url }), await Client.http({ url: where.url, token: "another" })];
  for (const other of others) {
    await assert.rejects(other.configGet(), Unauthorized);
    await assert.rejects(other.callTool("meerkat_list", {}), Unauthorized);
    await assert.rejects(other.session("x").events().next(), Unauthorized);
  }
});

for (const [name, open, connect] of [
  ["TCP", overTcp, ({ port }) => Client.connect({ port })],
  ["HTTP", overHttp, ({ url }) => Client.http({ url })],
]) {
  test(`the token of a server on this machine is found, over ${name}`, LIMIT, async (t) => {
    const { where, home } = await open(t);
    const before = process.env["RECOLLECT_HOME"];
    later(t, () => (before === undefined ? delete process.env["RECOLLECT_HOME"] : (process.env["RECOLLECT_HOME"] = before)));
    process.env["RECOLLECT_HOME"] = join(home, "state");
    const client = await connect(where);
    later(t, () => client.close());
    assert.deepEqual(await client.listSessions(), []);
  });
}

// ---- programs that are not servers

/** A port that responds to every line as the test says. */
async function scripted(t, respond) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      for (const line of String(data).trim().split("\n")) respond(JSON.parse(line), socket);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(t, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: server.address().port };
}

function line(message) {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}

const NONSENSE = [
  "nonsense\n",
  "null\n",
  "[]\n",
  "7\n",
  '{"torn":\n',
  line({ id: null, error: { code: -32700, message: "no" } }),
  line({ id: 2, error: "boom" }),
  line({ id: 2, error: { code: "BOOM" } }),
];

for (const nonsense of NONSENSE) {
  test(`a server that sends ${nonsense.trim()} is lost`, LIMIT, async (t) => {
    const where = await scripted(t, ({ id, method }, socket) => {
      socket.write(method === "initialize" ? line({ id, result: HELLO }) : nonsense);
    });
    const client = await Client.connect(where);
    later(t, () => client.close());
    await assert.rejects(client.configGet(), (error) => error instanceof ConnectionLost && /JSON-RPC/.test(error.message));
    await assert.rejects(client.configGet(), ConnectionLost);
  });
}

test("a program that speaks another protocol is not a Recollect server", LIMIT, async (t) => {
  const command = [process.execPath, "-e", 'console.log("SSH-2.0"); process.stdin.resume()'];
  await assert.rejects(Client.spawn({ command }), /SSH-2.0/);
  const odd = await scripted(t, ({ id }, socket) => socket.write(line({ id, result: {} })));
  await assert.rejects(Client.connect(odd), /is not a Recollect server/);
});

test("a program that closes its output is a lost connection", LIMIT, async () => {
  const command = [process.execPath, "-e", 'require("fs").closeSync(1); process.stdin.resume()'];
  await assert.rejects(Client.spawn({ command }), ConnectionLost);
});

test("unknown messages are ignored, and lines may arrive in any pieces", LIMIT, async (t) => {
  const where = await scripted(t, async ({ id, method }, socket) => {
    const answer = line({ id, error: null, result: method === "initialize" ? HELLO : { ...CONFIG, config: { a: "ü" } } });
    const odd = [line({ id: 999, result: 1 }), line({ method: "session/event" }), line({ method: "other/thing" }), "\n"];
    for (const byte of Buffer.from(odd.join("") + answer)) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  const client = await Client.connect(where);
  later(t, () => client.close());
  assert.deepEqual((await client.configGet()).config, { a: "ü" });
});

test("a response without its required fields is an internal error, and the client goes on", LIMIT, async (t) => {
  const odd = [
    [(client) => client.listSessions(), { result: { sessions: 5 } }],
    [(client) => client.listSessions(), { result: { sessions: [{ session_id: "s" }] } }],
    [(client) => client.configGet(), {}],
    [(client) => client.configGet(), { result: null }],
    [(client) => client.request("config/get", {}), {}],
    [(client) => client.createSession({ prompt: "x" }), { result: { session_id: "s" } }],
    [(client) => client.session("s").startTurn("x"), { result: { ...RAN, usage: 7 } }],
    [(client) => client.callTool("open", { id: "x" }), { result: { content: "x" } }],
  ];
  const answers = odd.map(([, answer]) => answer);
  const where = await scripted(t, ({ id, method }, socket) => {
    socket.write(line({ id, ...(method === "initialize" ? { result: HELLO } : (answers.shift() ?? { result: CONFIG })) }));
  });
  const client = await Client.connect(where);
  later(t, () => client.close());
  for (const [ask, answer] of odd) await assert.rejects(ask(client), InternalError, JSON.stringify(answer));
  assert.equal((await client.configGet()).generation, 3);
  for (const limit of [NaN, Infinity]) await assert.rejects(client.session("s").history({ limit }), InvalidParams);
});

test("an error of JSON-RPC itself has a name", LIMIT, async (t) => {
  const where = await scripted(t, ({ id, method }, socket) => {
    socket.write(line(method === "initialize" ? { id, result: HELLO } : { id, error: { code: -32601, message: "what?" } }));
  });
  const client = await Client.connect(where);
  later(t, () => client.close());
  const error = await client.configGet().catch((reason) => reason);
  assert.ok(error instanceof RecollectError);
  assert.deepEqual([error.code, error.message, error.name], ["METHOD_NOT_FOUND", "what?", "RecollectError"]);
});

// ---- events of several turns

test("events are held until it is known which turn they belong to", LIMIT, async (t) => {
  const asked = [];
  const where = await scripted(t, ({ id, method, params }, socket) => {
    if (method === "initialize") return socket.write(line({ id, result: HELLO }));
    asked.push(id);
    if (asked.length < 2) return undefined;
    const event = (sequence, type) => line({ method: "session/event", params: { session_id: params.session_id, sequence, type } });
    const busy = { code: -32002, message: "busy", data: { code: "SESSION_BUSY" } };
    const told = [event(1, "turn_started"), line({ id: asked[0], error: busy }), event(2, "turn_completed")];
    return socket.write([...told, line({ id: asked[1], result: { ...RAN, text: "second" } })].join(""));
  });
  const client = await Client.connect(where);
  later(t, () => client.close());
  const session = client.session("s");
  const loops = await Promise.all([collect(session.stream("a")), collect(session.stream("b"))]);
  assert.deepEqual(loops.map(({ events }) => events.map(({ sequence }) => sequence)), [[], [1, 2]]);
  assert.deepEqual(loops.map(({ error }) => error?.name), ["SessionBusy", undefined]);
});

test("JSON-RPC refuses to give the events of all turns, and says so", LIMIT, async (t) => {
  const { client } = await TRANSPORTS.stdio(t);
  const session = await client.createDeferredSession();
  await assert.rejects(session.events().next(), (error) => error.code === "NOT_OFFERED" && /Client.http/.test(error.message));
});
