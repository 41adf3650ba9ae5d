/** HTTP: the requests that are sent, and how every kind of response is handled. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import {
  AgentError,
  Client,
  ConnectionLost,
  GenerationConflict,
  InternalError,
  InvalidParams,
  RecollectError,
  RequestCancelled,
  SessionBusy,
  SessionNotFound,
  StaleCursor,
  Unauthorized,
} from "recollect-client";

import { ROUTES } from "../dist/operations.js";
import { CONFIG, collect, held, HELLO, later, overHttp, RAN, until } from "./servers.mjs";

const LIMIT = { timeout: 60_000 };
const JSON_TYPE = { "content-type": "application/json" };
const SSE = { "content-type": "text/event-stream; charset=utf-8" };

/** A client, and its server: it answers the handshake, then as the test says, and records its requests. */
async function scripted(t, respond, options = {}) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const { method, url, headers } = request;
    if (url.endsWith("/health")) return respondWith(200, HELLO)(response);
    requests.push({ method, url, headers, body });
    response.on("error", () => {});
    return respond(response, requests.length, requests.at(-1));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(t, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const client = await Client.http({ url: `http://127.0.0.1:${server.address().port}/`, ...options });
  later(t, () => client.close());
  return { client, requests, server };
}

function respondWith(status, body, headers = JSON_TYPE) {
  return (response) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const event = (data) => `id: ${data.sequence}\ndata: ${JSON.stringify(data)}\n\n`;
const numbered = (sequence, type) => ({ session_id: "s", sequence, type });

// ---- requests

test("every method has its route: parameters go into the path, then the query or the body", LIMIT, async (t) => {
  const { client, requests } = await scripted(t, respondWith(200, {}));
  const params = { session_id: "S", realm_id: "R", journey_id: "J", document_id: "D", id: "I", name: "N", one: 1, two: "zwei", not: undefined };
  for (const [name, route] of Object.entries(ROUTES)) {
    await client.request(name, params);
    const [method, path] = route.split(" ");
    const { method: sent, url, body, headers } = requests.at(-1);
    const [where, query] = url.split("?");
    assert.equal(sent, method, name);
    assert.equal(where, path.replace(/\{(\w)\w*\}/g, (_, letter) => letter.toUpperCase()), name);
    const rest = query === undefined ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(query));
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, key]) => key);
    const expected = Object.keys(params).filter((key) => key !== "not" && !inPath.includes(key));
    assert.deepEqual(Object.keys(rest), expected, name);
    assert.equal(query === undefined, !["GET", "DELETE"].includes(method), name);
    assert.equal(headers["content-type"], query === undefined ? "application/json" : undefined);
    assert.equal(headers.authorization, undefined);
  }
});

test("objects and arrays are encoded in the query, and paths are escaped", LIMIT, async (t) => {
  const { client, requests } = await scripted(t, respondWith(200, { sessions: [], content: [] }), { token: "a-secret" });
  await client.request("session/list", { labels: { a: "1", "b&=": "ü" }, offset: 0, many: ["x", "y"], none: null });
  const query = [...new URLSearchParams(requests[0].url.split("?")[1])];
  assert.deepEqual(query, [["labels[a]", "1"], ["labels[b&=]", "ü"], ["offset", "0"], ["many", "x"], ["many", "y"]]);
  assert.equal(requests[0].headers.authorization, "Bearer a-secret");
  await client.request("session/read", { session_id: "main:ü?#" });
  assert.equal(requests[1].url, "/sessions/main%3A%C3%BC%3F%23");
  await client.listSessions({ labels: { "[odd]": "x", plain: "y" } });
  assert.deepEqual([...new URLSearchParams(requests[2].url.split("?")[1])], [["labels", '{"[odd]":"x","plain":"y"}']]);
  await client.callTool("open", { id: "x", name: "not the tool's" });
  assert.deepEqual([requests[3].url, requests[3].body], ["/v1/tools/open", '{"id":"x","name":"not the tool\'s"}']);
});

test("a server may be below a path", LIMIT, async (t) => {
  const { requests, server } = await scripted(t, respondWith(200, { realms: [] }));
  const client = await Client.http({ url: `http://127.0.0.1:${server.address().port}/deep/er/` });
  await client.realms();
  assert.equal(requests[0].url, "/deep/er/realms");
});

// ---- responses

const REFUSALS = [
  [404, { code: "SESSION_NOT_FOUND", message: "none" }, SessionNotFound, "SESSION_NOT_FOUND"],
  [409, { code: "SESSION_BUSY", message: "busy" }, SessionBusy, "SESSION_BUSY"],
  [409, { code: "GENERATION_CONFLICT", message: "no", details: { current_generation: 3 } }, GenerationConflict, "GENERATION_CONFLICT"],
  [401, { code: "UNAUTHORIZED", message: "token" }, Unauthorized, "UNAUTHORIZED"],
  [403, { code: "FORBIDDEN_HOST", message: "host" }, Unauthorized, "FORBIDDEN_HOST"],
  [503, { code: "OVERLOADED", message: "later" }, RecollectError, "OVERLOADED"],
  [404, { code: 404, message: "no journey" }, InvalidParams, "INVALID_PARAMS"],
  [404, { error: { code: 404, message: "no journey" } }, InvalidParams, "INVALID_PARAMS"],
  [500, { error: { code: 500, message: "broken" } }, InternalError, "INTERNAL_ERROR"],
  [400, { schema_version: "x", error: { code: "invalid_request", message: "odd" } }, InvalidParams, "invalid_request"],
  [418, { error: "short and stout" }, RecollectError, "HTTP_418"],
  [400, "", InvalidParams, "INVALID_PARAMS"],
  [401, "", Unauthorized, "UNAUTHORIZED"],
  [403, "<html>no</html>", Unauthorized, "UNAUTHORIZED"],
  [410, "", StaleCursor, "STALE_CURSOR"],
  [413, "[]", InvalidParams, "INVALID_PARAMS"],
  [500, "null", InternalError, "INTERNAL_ERROR"],
  [502, "<html>bad gateway</html>", RecollectError, "HTTP_502"],
  [504, "", RequestCancelled, "REQUEST_CANCELLED"],
];

for (const [status, body, Kind, code] of REFUSALS) {
  test(`${status} with ${JSON.stringify(body)} is ${Kind.name}`, LIMIT, async (t) => {
    const { client } = await scripted(t, respondWith(status, body, typeof body === "string" ? {} : JSON_TYPE));
    const ways = [
      client.session("main:S").read(),
      client.session("S").startTurn("x"),
      client.callTool("open", {}),
      client.session("S").events().next(),
    ].map((call) => call.then(() => assert.fail("it succeeded"), (reason) => reason));
    const [error, ...others] = await Promise.all(ways);
    for (const one of [error, ...others]) {
      assert.ok(one instanceof Kind, String(one));
      assert.equal(one.code, code);
      assert.equal(one.name, Kind.name);
      assert.ok(one.message.length > 0);
    }
    assert.equal(error.sessionId, "s");
    const number = body?.code ?? body?.error?.code;
    assert.equal(error.details.status, typeof number === "string" ? undefined : status);
    if (code === "GENERATION_CONFLICT") assert.deepEqual(error.details, { current_generation: 3 });
  });
}

for (const body of ["", "<html>welcome</html>", "[1]", "null", "{"]) {
  test(`a response of ${JSON.stringify(body)} is an internal error`, LIMIT, async (t) => {
    const { client } = await scripted(t, respondWith(200, body, {}));
    await assert.rejects(client.configGet(), InternalError);
    await assert.rejects(client.callTool("open", {}), InternalError);
    await assert.rejects(client.session("s").events().next(), InternalError);
  });
}

test("a response without its required fields is an internal error", LIMIT, async (t) => {
  const { client } = await scripted(t, respondWith(200, { sessions: 5, content: 5 }));
  await assert.rejects(client.listSessions(), /response to session\/list: response.sessions/);
  await assert.rejects(client.callTool("open", {}), InternalError);
  await assert.rejects(client.journey(), InternalError);
  await assert.rejects(client.createSession({ prompt: "x" }), InternalError);
});

test("a method without a route is not found, and NaN is refused", LIMIT, async (t) => {
  const { client, requests } = await scripted(t, respondWith(200, CONFIG));
  for (const method of ["no/such", "ping", "initialize", "tools/list", "tools/call", "toString", ""]) {
    const error = await client.request(method, {}).catch((reason) => reason);
    assert.deepEqual([error.name, error.code], ["RecollectError", "METHOD_NOT_FOUND"], method);
  }
  await assert.rejects(client.configSet({ deep: [NaN] }), InvalidParams);
  assert.deepEqual(requests, []);
});

test("a server describes itself, and anything else is not a Recollect server", LIMIT, async (t) => {
  const { client, server } = await scripted(t, respondWith(200, CONFIG));
  assert.deepEqual(client.server, { ...HELLO, methods: Object.keys(ROUTES).sort() });
  server.removeAllListeners("request").on("request", (_, response) => respondWith(200, { status: "ok" })(response));
  await assert.rejects(Client.http({ url: `http://127.0.0.1:${server.address().port}` }), /is not a Recollect server/);
});

test("a request without a response is a lost connection, and names its session", LIMIT, async (t) => {
  const { client } = await scripted(t, (response) => response.destroy());
  const error = await client.session("s").startTurn("x").catch((reason) => reason);
  assert.ok(error instanceof ConnectionLost, String(error));
  assert.match(error.message, /dropped the connection/);
  assert.equal(error.sessionId, "s");
});

test("a turn is read from bytes that arrive one by one", LIMIT, async (t) => {
  const events = [numbered(1, "turn_started"), { ...numbered(2, "text_delta"), delta: "grün ☃ 😀\n\n" }, numbered(3, "turn_completed")];
  const missing = { session_id: "s", type: "stream_truncated", dropped: 7 };
  const text = [
    ": still here\n\n",
    ...events.map(event),
    `data: ${JSON.stringify(missing)}\r\n\r\n`,
    `event: result\ndata: ${JSON.stringify({ ...RAN, text: "ende 😀" })}\n\n`,
  ].join("");
  const { client, requests } = await scripted(t, async (response) => {
    response.writeHead(200, SSE);
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const turn = client.session("s").stream("go");
  assert.deepEqual(await collect(turn), { events: [...events, missing] });
  assert.equal((await turn.result).text, "ende 😀");
  assert.match(requests[0].headers.accept, /text\/event-stream/);
});

test("a turn that fails reports its error at the end of its stream", LIMIT, async (t) => {
  const error = { code: "AGENT_ERROR", message: "it fell over", details: { exit_code: 3, session_id: "s" } };
  const stream = `${event(numbered(1, "turn_started"))}${event(numbered(2, "turn_failed"))}event: error\ndata: ${JSON.stringify(error)}\n\n`;
  const { client } = await scripted(t, respondWith(200, stream, SSE));
  const loop = await collect(client.session("s").stream("go"));
  assert.deepEqual(loop.events.map(({ type }) => type), ["turn_started", "turn_failed"]);
  assert.ok(loop.error instanceof AgentError);
  assert.deepEqual([loop.error.details.exit_code, loop.error.sessionId], [3, "s"]);
  const created = await client.createSession({ prompt: "x" }).catch((reason) => reason);
  assert.ok(created instanceof AgentError);
  assert.equal(created.sessionId, "s");
});

for (const [how, end, Kind] of [
  ["ends early", (response) => response.end(), ConnectionLost],
  ["breaks off", (response) => response.destroy(), ConnectionLost],
  ["is not JSON", (response) => response.end("data: nonsense\n\n"), InternalError],
]) {
  test(`a stream that ${how} is ${Kind.name}`, LIMIT, async (t) => {
    const { client } = await scripted(t, async (response) => {
      response.writeHead(200, SSE);
      await new Promise((resolve) => response.write(event(numbered(1, "turn_started")), resolve));
      end(response);
    });
    const { events, error } = await collect(client.session("s").stream("go"));
    assert.deepEqual(events, [numbered(1, "turn_started")]);
    assert.ok(error instanceof Kind, String(error));
    if (Kind === ConnectionLost) assert.equal((await client.createSession({ prompt: "x" }).catch((lost) => lost)).sessionId, "s");
    else await assert.rejects(collect(client.session("s").events()).then(({ error }) => Promise.reject(error)), InternalError);
  });
}

test("a server that falls silent counts as lost, at any moment", LIMIT, async (t) => {
  const begins = { "/sessions/s/messages": event(numbered(1, "turn_started")), "/sessions/half": '{"session_id"' };
  const { client } = await scripted(
    t,
    (response, _, { url }) => {
      if (!(url in begins)) return;
      response.writeHead(200, url.endsWith("messages") ? SSE : JSON_TYPE);
      response.write(begins[url]);
    },
    { silenceMs: 100 },
  );
  await assert.rejects(client.configGet(), /sent nothing for 0.1 s/);
  await assert.rejects(client.session("half").read(), ConnectionLost);
  const { events, error } = await collect(client.session("s").stream("go"));
  assert.equal(events.length, 1);
  assert.ok(error instanceof ConnectionLost);
});

test("comments keep a turn alive", LIMIT, async (t) => {
  const { client } = await scripted(
    t,
    async (response) => {
      response.writeHead(200, SSE);
      for (let sign = 0; sign < 15; sign++) {
        response.write(": still here\n\n");
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
      response.end(`event: result\ndata: ${JSON.stringify({ ...RAN, text: "at last" })}\n\n`);
    },
    { silenceMs: 300 },
  );
  assert.equal((await client.session("s").startTurn("go")).text, "at last");
});

// ---- events of a session

test("events continue after a broken connection where they stopped", LIMIT, async (t) => {
  const streams = [
    (response) => response.write(event(numbered(4, "turn_started")), () => response.destroy()),
    (response) => response.end('data: {"session_id":"s","type":"stream_truncated","dropped":5}\n\n'),
    (response) => response.end(event(numbered(10, "turn_completed"))),
  ];
  const { client, requests } = await scripted(t, (response, count) => {
    const stream = streams[count - 1];
    if (stream === undefined) return respondWith(404, { code: "SESSION_NOT_FOUND", message: "archived" })(response);
    response.writeHead(200, SSE);
    return stream(response);
  });
  const { events, error } = await collect(client.session("s").events());
  assert.equal(error, undefined);
  assert.deepEqual(events.map(({ type }) => type), ["turn_started", "stream_truncated", "turn_completed"]);
  assert.deepEqual(requests.map(({ headers }) => headers["last-event-id"]), [undefined, "4", "9", "10"]);
  assert.ok(requests.every(({ url }) => url === "/sessions/s/events"));
});

test("events may start after a known one", LIMIT, async (t) => {
  const { client, requests } = await scripted(t, respondWith(404, { code: "SESSION_NOT_FOUND", message: "none" }));
  await assert.rejects(client.session("s").events({ after: 12 }).next(), SessionNotFound);
  assert.equal(requests[0].headers["last-event-id"], "12");
  const { events } = await collect(client.session("s").events({ signal: AbortSignal.abort() }));
  assert.deepEqual([events, requests.length], [[], 1]);
});

test("events of a server that does not come back end with an error", LIMIT, async (t) => {
  const { client, server } = await scripted(t, (response) => {
    response.writeHead(200, SSE);
    response.write(event(numbered(1, "turn_started")));
  });
  const loop = client.session("s").events();
  assert.equal((await loop.next()).value.sequence, 1);
  server.close();
  server.closeAllConnections();
  await assert.rejects(loop.next(), ConnectionLost);
});

test("closing the client or aborting the signal ends a loop, also while it reconnects", LIMIT, async (t) => {
  const { client, server } = await scripted(t, (response) => {
    response.writeHead(200, SSE);
    response.write(event(numbered(1, "turn_started")));
  });
  const aborting = new AbortController();
  const loops = [client.session("s").events({ signal: aborting.signal }), client.session("s").events()];
  for (const loop of loops) await loop.next();
  const [aborted, closed] = loops.map((loop) => loop.next());
  aborting.abort();
  assert.deepEqual(await aborted, { value: undefined, done: true });
  server.close();
  server.closeAllConnections();
  const refused = assert.rejects(closed, /closed/);
  await client.close();
  await refused;
});

test("everybody can listen to a session, from the start of its turn until it is archived", LIMIT, async (t) => {
  const { client } = await overHttp(t);
  const session = await client.createDeferredSession();
  const gate = held(t);
  const turn = session.stream("wait", gate);
  await turn[Symbol.asyncIterator]().next();
  const listeners = [collect(session.events()), collect(client.session(session.id).events({ after: 1 }))];
  const live = session.events();
  assert.equal((await live.next()).value.type, "turn_started");
  gate.release();
  await turn.result;
  await until(async () => (await live.next()).value.type === "turn_completed");
  await live.return();
  await session.startTurn("more", { command: ["cat"] });
  await session.archive();
  const [all, rest] = await Promise.all(listeners);
  assert.deepEqual([all.error, rest.error], [undefined, undefined]);
  assert.deepEqual(all.events.map(({ sequence }) => sequence), all.events.map((_, place) => place + 1));
  assert.deepEqual(rest.events, all.events.slice(1));
  assert.equal(all.events.filter(({ type }) => type === "turn_completed").length, 2);
});
