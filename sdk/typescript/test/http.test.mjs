/** HTTP as it is spoken: what is sent, and what is made of every kind of answer. */

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
import { CONFIG, heard, held, HELLO, later, overHttp, RAN, until } from "./servers.mjs";

const LIMIT = { timeout: 60_000 };
const JSON_TYPE = { "content-type": "application/json" };
const SSE = { "content-type": "text/event-stream; charset=utf-8" };

/** A server that greets, then answers as it is told and remembers what it was asked; and a client of it. */
async function scripted(t, answer, options = {}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const { method, url, headers } = request;
    if (url.endsWith("/health")) return says(200, HELLO)(response);
    asked.push({ method, url, headers, body });
    response.on("error", () => {});
    return answer(response, asked.length, asked.at(-1));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(t, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const client = await Client.http({ url: `http://127.0.0.1:${server.address().port}/`, ...options });
  later(t, () => client.close());
  return { client, asked, server };
}

function says(status, body, headers = JSON_TYPE) {
  return (response) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const event = (data) => `id: ${data.sequence}\ndata: ${JSON.stringify(data)}\n\n`;
const told = (sequence, type) => ({ session_id: "s", sequence, type });

// ---- what is sent

test("every method has its route: names in the path, the rest where it belongs", LIMIT, async (t) => {
  const { client, asked } = await scripted(t, says(200, {}));
  const params = { session_id: "S", realm_id: "R", journey_id: "J", document_id: "D", one: 1, two: "zwei", not: undefined };
  for (const [name, route] of Object.entries(ROUTES)) {
    await client.request(name, params);
    const [method, path] = route.split(" ");
    const { method: sent, url, body, headers } = asked.at(-1);
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

test("objects and arrays have their form in a query, and paths are escaped", LIMIT, async (t) => {
  const { client, asked } = await scripted(t, says(200, { sessions: [], content: [] }), { token: "a-secret" });
  await client.request("session/list", { labels: { a: "1", "b&=": "ü" }, offset: 0, many: ["x", "y"], none: null });
  const query = [...new URLSearchParams(asked[0].url.split("?")[1])];
  assert.deepEqual(query, [["labels[a]", "1"], ["labels[b&=]", "ü"], ["offset", "0"], ["many", "x"], ["many", "y"]]);
  assert.equal(asked[0].headers.authorization, "Bearer a-secret");
  await client.request("session/read", { session_id: "main:ü?#" });
  assert.equal(asked[1].url, "/sessions/main%3A%C3%BC%3F%23");
  await client.listSessions({ labels: { "[odd]": "x", plain: "y" } });
  assert.deepEqual([...new URLSearchParams(asked[2].url.split("?")[1])], [["labels", '{"[odd]":"x","plain":"y"}']]);
  await client.callTool("open", { id: "x", name: "not the tool's" });
  assert.deepEqual([asked[3].url, asked[3].body], ["/v1/tools/open", '{"id":"x","name":"not the tool\'s"}']);
});

test("a server may live below a path", LIMIT, async (t) => {
  const { asked, server } = await scripted(t, says(200, { realms: [] }));
  const client = await Client.http({ url: `http://127.0.0.1:${server.address().port}/deep/er/` });
  await client.realms();
  assert.equal(asked[0].url, "/deep/er/realms");
});

// ---- what is answered

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
  [400, { schema_version: "x", error: { code: "invalid_request", message: "odd" } }, RecollectError, "invalid_request"],
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
    const { client } = await scripted(t, says(status, body, typeof body === "string" ? {} : JSON_TYPE));
    const ways = [
      client.session("main:S").read(),
      client.session("S").startTurn("x"),
      client.callTool("open", {}),
      client.session("S").events().next(),
    ].map((asked) => asked.then(() => assert.fail("it was not refused"), (reason) => reason));
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
  test(`an answer that is ${JSON.stringify(body)} is none`, LIMIT, async (t) => {
    const { client } = await scripted(t, says(200, body, {}));
    await assert.rejects(client.configGet(), InternalError);
    await assert.rejects(client.callTool("open", {}), InternalError);
    await assert.rejects(client.session("s").events().next(), InternalError);
  });
}

test("an answer of another shape is the server's fault", LIMIT, async (t) => {
  const { client } = await scripted(t, says(200, { sessions: 5, content: 5 }));
  await assert.rejects(client.listSessions(), /The answer to session\/list is not one .* it.sessions/);
  await assert.rejects(client.callTool("open", {}), InternalError);
  await assert.rejects(client.journey(), InternalError);
  await assert.rejects(client.createSession({ prompt: "x" }), InternalError);
});

test("a method that has no route is not found, and what is no number is refused", LIMIT, async (t) => {
  const { client, asked } = await scripted(t, says(200, CONFIG));
  for (const method of ["no/such", "ping", "initialize", "tools/list", "tools/call", "toString", ""]) {
    const error = await client.request(method, {}).catch((reason) => reason);
    assert.deepEqual([error.name, error.code], ["RecollectError", "METHOD_NOT_FOUND"], method);
  }
  await assert.rejects(client.configSet({ deep: [NaN] }), InvalidParams);
  assert.deepEqual(asked, []);
});

test("a server tells of itself, and what is no server does not", LIMIT, async (t) => {
  const { client, server } = await scripted(t, says(200, CONFIG));
  assert.deepEqual(client.server, { ...HELLO, methods: Object.keys(ROUTES).sort() });
  server.removeAllListeners("request").on("request", (_, response) => says(200, { status: "ok" })(response));
  await assert.rejects(Client.http({ url: `http://127.0.0.1:${server.address().port}` }), /no server of Recollect/);
});

test("a request that arrived and was not answered is a lost connection, and names its session", LIMIT, async (t) => {
  const { client } = await scripted(t, (response) => response.destroy());
  const error = await client.session("s").startTurn("x").catch((reason) => reason);
  assert.ok(error instanceof ConnectionLost, String(error));
  assert.match(error.message, /the connection was lost/);
  assert.equal(error.sessionId, "s");
});

test("a turn is read from bytes that come one by one", LIMIT, async (t) => {
  const events = [told(1, "turn_started"), { ...told(2, "text_delta"), delta: "grün ☃ 😀\n\n" }, told(3, "turn_completed")];
  const missing = { session_id: "s", type: "stream_truncated", dropped: 7 };
  const text = [
    ": still here\n\n",
    ...events.map(event),
    `data: ${JSON.stringify(missing)}\r\n\r\n`,
    `event: result\ndata: ${JSON.stringify({ ...RAN, text: "ende 😀" })}\n\n`,
  ].join("");
  const { client, asked } = await scripted(t, async (response) => {
    response.writeHead(200, SSE);
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const turn = client.session("s").stream("go");
  assert.deepEqual(await heard(turn), { events: [...events, missing] });
  assert.equal((await turn.result).text, "ende 😀");
  assert.match(asked[0].headers.accept, /text\/event-stream/);
});

test("a turn that fails says so at the end of its stream", LIMIT, async (t) => {
  const error = { code: "AGENT_ERROR", message: "it fell over", details: { exit_code: 3, session_id: "s" } };
  const stream = `${event(told(1, "turn_started"))}${event(told(2, "turn_failed"))}event: error\ndata: ${JSON.stringify(error)}\n\n`;
  const { client } = await scripted(t, says(200, stream, SSE));
  const loop = await heard(client.session("s").stream("go"));
  assert.deepEqual(loop.events.map(({ type }) => type), ["turn_started", "turn_failed"]);
  assert.ok(loop.error instanceof AgentError);
  assert.deepEqual([loop.error.details.exit_code, loop.error.sessionId], [3, "s"]);
  const created = await client.createSession({ prompt: "x" }).catch((reason) => reason);
  assert.ok(created instanceof AgentError);
  assert.equal(created.sessionId, "s");
});

for (const [how, end, Kind] of [
  ["ends before its time", (response) => response.end(), ConnectionLost],
  ["breaks off", (response) => response.destroy(), ConnectionLost],
  ["is no JSON", (response) => response.end("data: nonsense\n\n"), InternalError],
]) {
  test(`a stream that ${how} is ${Kind.name}`, LIMIT, async (t) => {
    const { client } = await scripted(t, async (response) => {
      response.writeHead(200, SSE);
      await new Promise((resolve) => response.write(event(told(1, "turn_started")), resolve));
      end(response);
    });
    const { events, error } = await heard(client.session("s").stream("go"));
    assert.deepEqual(events, [told(1, "turn_started")]);
    assert.ok(error instanceof Kind, String(error));
    if (Kind === ConnectionLost) assert.equal((await client.createSession({ prompt: "x" }).catch((lost) => lost)).sessionId, "s");
    else await assert.rejects(heard(client.session("s").events()).then(({ error }) => Promise.reject(error)), InternalError);
  });
}

test("a server that falls silent is gone, at any moment", LIMIT, async (t) => {
  const begins = { "/sessions/s/messages": event(told(1, "turn_started")), "/sessions/half": '{"session_id"' };
  const { client } = await scripted(
    t,
    (response, _, { url }) => {
      if (!(url in begins)) return;
      response.writeHead(200, url.endsWith("messages") ? SSE : JSON_TYPE);
      response.write(begins[url]);
    },
    { silenceMs: 100 },
  );
  await assert.rejects(client.configGet(), /said nothing for 0.1 s/);
  await assert.rejects(client.session("half").read(), ConnectionLost);
  const { events, error } = await heard(client.session("s").stream("go"));
  assert.equal(events.length, 1);
  assert.ok(error instanceof ConnectionLost);
});

test("signs of life keep a turn alive", LIMIT, async (t) => {
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

test("events go on after a connection that broke off, from where they were", LIMIT, async (t) => {
  const streams = [
    (response) => response.write(event(told(4, "turn_started")), () => response.destroy()),
    (response) => response.end('data: {"session_id":"s","type":"stream_truncated","dropped":5}\n\n'),
    (response) => response.end(event(told(10, "turn_completed"))),
  ];
  const { client, asked } = await scripted(t, (response, count) => {
    const stream = streams[count - 1];
    if (stream === undefined) return says(404, { code: "SESSION_NOT_FOUND", message: "archived" })(response);
    response.writeHead(200, SSE);
    return stream(response);
  });
  const { events, error } = await heard(client.session("s").events());
  assert.equal(error, undefined);
  assert.deepEqual(events.map(({ type }) => type), ["turn_started", "stream_truncated", "turn_completed"]);
  assert.deepEqual(asked.map(({ headers }) => headers["last-event-id"]), [undefined, "4", "9", "10"]);
  assert.ok(asked.every(({ url }) => url === "/sessions/s/events"));
});

test("events may begin after one that is known", LIMIT, async (t) => {
  const { client, asked } = await scripted(t, says(404, { code: "SESSION_NOT_FOUND", message: "none" }));
  await assert.rejects(client.session("s").events({ after: 12 }).next(), SessionNotFound);
  assert.equal(asked[0].headers["last-event-id"], "12");
  const { events } = await heard(client.session("s").events({ signal: AbortSignal.abort() }));
  assert.deepEqual([events, asked.length], [[], 1]);
});

test("events of a server that does not come back end with an error", LIMIT, async (t) => {
  const { client, server } = await scripted(t, (response) => {
    response.writeHead(200, SSE);
    response.write(event(told(1, "turn_started")));
  });
  const loop = client.session("s").events();
  assert.equal((await loop.next()).value.sequence, 1);
  server.close();
  server.closeAllConnections();
  await assert.rejects(loop.next(), ConnectionLost);
});

test("a closed client and an aborted signal end a loop, also one that waits for its server", LIMIT, async (t) => {
  const { client, server } = await scripted(t, (response) => {
    response.writeHead(200, SSE);
    response.write(event(told(1, "turn_started")));
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

test("a session is heard by everybody, from the beginning of its turn until it is archived", LIMIT, async (t) => {
  const { client } = await overHttp(t);
  const session = await client.createDeferredSession();
  const gate = held(t);
  const turn = session.stream("wait", gate);
  await turn[Symbol.asyncIterator]().next();
  const listeners = [heard(session.events()), heard(client.session(session.id).events({ after: 1 }))];
  const live = session.events();
  assert.equal((await live.next()).value.type, "turn_started");
  gate.letGo();
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
