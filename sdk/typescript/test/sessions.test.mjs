/** Live sessions, over every transport. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import {
  AgentError,
  ConnectionLost,
  DeferredSession,
  GenerationConflict,
  InvalidParams,
  ProviderError,
  RecollectError,
  RequestCancelled,
  Session,
  SessionBusy,
  SessionNotFound,
} from "recollect-client";

import { ABSENT, collect, held, until, TRANSPORTS } from "./servers.mjs";

const ECHO = { command: ["cat"] };
const FAILS = { command: ["sh", "-c", "echo sorry >&2; exit 3"] };

/** A session with these turns. */
async function sessionWithTurns(client, ...prompts) {
  const session = await client.createDeferredSession(ECHO);
  for (const prompt of prompts) await session.startTurn(prompt);
  return session;
}

const rolesAndTexts = (page) => page.messages.map(({ role, content }) => [role, content]);

const PROMISES = {
  async "M1: create runs the first turn, and history has it"({ client }) {
    const session = await client.createSession({ prompt: "ahoy", ...ECHO, labels: { ship: "Erika" } });
    assert.ok(session instanceof Session);
    assert.equal(session.result.text, "ahoy");
    assert.equal(session.result.turns, 1);
    assert.equal(session.result.tool_calls, 0);
    assert.equal(session.result.stop_reason, "end_turn");
    assert.ok(session.result.usage.total_tokens > 0);
    assert.deepEqual(rolesAndTexts(await session.history()), [["user", "ahoy"], ["assistant", "ahoy"]]);
    const state = await session.read();
    assert.deepEqual(state.labels, { ship: "Erika" });
    assert.equal(state.is_active, false);
    assert.equal(state.message_count, 2);
    assert.equal(state.turns, 1);
    assert.equal(state.runner, "command");
  },

  async "M2, M3: a deferred session has run nothing, and its first turn is turn 1"({ client }) {
    const session = await client.createDeferredSession(ECHO);
    assert.ok(session instanceof DeferredSession);
    assert.equal(session.result, undefined);
    assert.deepEqual((await session.history()).messages, []);
    assert.equal((await session.read()).usage.total_tokens, 0);
    assert.equal((await session.startTurn("now")).turns, 1);
    assert.equal(session.result.text, "now");
    assert.equal((await session.history()).message_count, 2);
  },

  async "M4: a failed first turn leaves a session, and the error names it"({ client }) {
    const error = await client.createSession({ prompt: "x", ...FAILS }).catch((reason) => reason);
    assert.ok(error instanceof AgentError, String(error));
    assert.equal(error.name, "AgentError");
    assert.equal(error.code, "AGENT_ERROR");
    assert.equal(error.details.exit_code, 3);
    const session = client.session(error.sessionId);
    assert.equal((await session.startTurn("again", ECHO)).text, "again");
  },

  async "M5: a second turn is refused at once, and the first goes on"({ client }, t) {
    const session = await client.createDeferredSession();
    const gate = held(t);
    const turn = session.stream("wait", gate);
    const first = turn[Symbol.asyncIterator]();
    assert.equal((await first.next()).value.type, "turn_started");
    const error = await session.startTurn("me too", ECHO).catch((reason) => reason);
    assert.ok(error instanceof SessionBusy, String(error));
    assert.equal(error.sessionId, session.id);
    assert.equal((await session.read()).is_active, true);
    gate.release();
    assert.equal((await turn.result).text, "began\nended\n");
    assert.equal((await session.startTurn("now", ECHO)).turns, 2);
  },

  async "M10: interrupt stops the turn, and the session goes on"({ client }, t) {
    const session = await client.createDeferredSession();
    const turn = session.stream("wait", held(t));
    await turn[Symbol.asyncIterator]().next();
    assert.deepEqual(await session.interrupt(), { session_id: session.id, interrupted: true });
    await assert.rejects(turn.result, RequestCancelled);
    assert.equal((await session.history()).messages.at(-1).role, "system_notice");
    assert.equal((await session.startTurn("on", ECHO)).text, "on");
  },

  async "M11, M12: interrupting an idle session is false, an unknown one is an error"({ client }) {
    const session = await client.createDeferredSession();
    assert.equal((await session.interrupt()).interrupted, false);
    const nobody = client.session(ABSENT);
    for (const ask of ["interrupt", "read", "history", "archive", "startTurn"]) {
      await assert.rejects(nobody[ask](ask === "startTurn" ? "x" : undefined), (error) => error instanceof SessionNotFound && error.sessionId === ABSENT);
    }
    for (const id of ["no uuid", "", ".", "..", "a/b", "?", "#", "%2e"]) {
      await assert.rejects(client.session(id).read(), InvalidParams, id);
    }
  },

  async "aborting interrupts that turn and no other"({ client }, t) {
    const session = await client.createDeferredSession();
    const aborting = new AbortController();
    const turn = session.stream("wait", { ...held(t), signal: aborting.signal });
    await turn[Symbol.asyncIterator]().next();
    const refused = new AbortController();
    const other = session.startTurn("busy", { ...ECHO, signal: refused.signal });
    refused.abort();
    await assert.rejects(other, SessionBusy);
    assert.equal((await session.read()).is_active, true);
    aborting.abort();
    await assert.rejects(turn.result, RequestCancelled);
    await assert.rejects(session.startTurn("late", { ...ECHO, signal: AbortSignal.abort() }), RequestCancelled);
    assert.equal((await session.read()).turns, 1);
  },

  async "aborting before the first event interrupts the turn too"({ client }, t) {
    const session = await client.createDeferredSession();
    const aborting = new AbortController();
    const turn = session.startTurn("wait", { ...held(t), signal: aborting.signal });
    aborting.abort();
    await assert.rejects(turn, RequestCancelled);
  },

  async "M14, M15, M16, M17: pages are in order and without gaps, and say whether there are more"({ client }) {
    const session = await sessionWithTurns(client, "one", "two", "three");
    const whole = await session.history();
    assert.deepEqual(whole.messages.map(({ content }) => content), ["one", "one", "two", "two", "three", "three"]);
    const pages = [];
    for (let offset = 0; ; offset += 4) {
      const page = await client.readSessionHistory(session.id, { offset, limit: 4 });
      assert.deepEqual([page.offset, page.limit, page.message_count], [offset, 4, 6]);
      pages.push(...page.messages);
      if (!page.has_more) break;
    }
    assert.deepEqual(pages, whole.messages);
    assert.equal((await session.history({ limit: 6 })).has_more, false);
    assert.equal((await session.history({ limit: 5 })).has_more, true);
    const past = await session.history({ offset: 6 });
    assert.deepEqual([past.messages, past.has_more], [[], false]);
    const all = [];
    for await (const message of session.messages(2)) all.push(message);
    assert.deepEqual(all, whole.messages);
  },

  async "M18: invalid pages are refused"({ client }) {
    const session = await client.createDeferredSession();
    for (const page of [{ limit: 1001 }, { limit: 0 }, { offset: -1 }, { offset: 0.5 }, { limit: "many" }, { limit: NaN }]) {
      await assert.rejects(session.history(page), InvalidParams, JSON.stringify(page));
    }
  },

  async "M21, M23: a list hides archived sessions, and filters by labels"({ client }) {
    const team = randomUUID();
    const kept = await client.createDeferredSession({ labels: { team, "odd [key]&=": "ü/?", "a&b=c": "{1}" } });
    const gone = await client.createSession({ prompt: "x", ...ECHO, labels: { team } });
    const listed = async (labels) => (await client.listSessions({ labels })).map(({ session_id }) => session_id);
    assert.deepEqual(new Set(await listed({ team })), new Set([kept.id, gone.id]));
    assert.deepEqual(await listed({ team, "odd [key]&=": "ü/?" }), [kept.id]);
    assert.deepEqual(await listed({ team, "a&b=c": "{1}" }), [kept.id]);
    assert.deepEqual(await listed({ team, "a&b=c": "{2}" }), []);
    assert.deepEqual(await client.archiveSession(gone.id), { session_id: gone.id, archived: true });
    assert.deepEqual(await listed({ team }), [kept.id]);
    assert.equal((await client.listSessions({ labels: { team }, limit: 1, offset: 1 })).length, 0);
    await assert.rejects(gone.read(), SessionNotFound);
    await assert.rejects(gone.startTurn("x"), SessionNotFound);
    await assert.rejects(gone.archive(), SessionNotFound);
    assert.equal((await gone.history()).message_count, 2);
  },

  async "M40, M41, M43: a write increases the generation, a stale one is refused, and null deletes"({ client }) {
    const { generation } = await client.configGet();
    const set = await client.configSet({ deep: { a: 1, b: 2 }, stays: true });
    assert.equal(set.generation, generation + 1);
    const patched = await client.configPatch({ deep: { a: null } }, { expectedGeneration: generation + 1 });
    assert.deepEqual(patched.config, { deep: { b: 2 }, stays: true });
    assert.equal(patched.generation, generation + 2);
    const stale = await client.configSet({}, { expectedGeneration: generation }).catch((reason) => reason);
    assert.ok(stale instanceof GenerationConflict, String(stale));
    assert.deepEqual(stale.details, { expected_generation: generation, current_generation: generation + 2 });
    assert.deepEqual((await client.configGet()).config, patched.config);
    await client.configSet({});
  },

  async "M45: the events of a turn are in order, to its end"({ client }) {
    const session = await client.createDeferredSession();
    const { events, error } = await collect(session.stream("go", { command: ["sh", "-c", "echo grün; echo zwei"] }));
    assert.equal(error, undefined);
    assert.deepEqual(events.map(({ sequence }) => sequence), events.map((_, place) => place + 1));
    assert.deepEqual([events[0].type, events.at(-1).type], ["turn_started", "turn_completed"]);
    const text = events.filter(({ type }) => type === "text_delta").map(({ delta }) => delta).join("");
    assert.equal(text, "grün\nzwei\n");
    assert.equal(events.at(-1).text, session.result.text);
    assert.ok(events.every(({ session_id }) => session_id === session.id));
  },

  async "M45: a failed turn says so, then the loop throws its error"({ client }) {
    const session = await client.createDeferredSession();
    const { events, error } = await collect(session.stream("go", FAILS));
    assert.equal(events.at(-1).type, "turn_failed");
    assert.ok(error instanceof AgentError);
    assert.equal(error.sessionId, session.id);
    const absent = await collect(session.stream("go", { command: ["/no/such/program"] }));
    assert.ok(absent.error instanceof ProviderError, String(absent.error));
    const nothing = await collect(session.stream("", ECHO));
    assert.deepEqual(nothing.events, []);
    assert.ok(nothing.error instanceof InvalidParams, String(nothing.error));
  },

  async "closing the stream ends the loop, not the turn"({ client }, t) {
    const gate = held(t);
    const session = await client.createDeferredSession(gate);
    const turn = session.stream("wait");
    await turn[Symbol.asyncIterator]().next();
    const loop = collect(turn);
    await turn.close();
    assert.equal((await loop).error, undefined);
    await assert.rejects(turn.result, (error) => error instanceof ConnectionLost && error.sessionId === session.id);
    assert.equal((await client.readSession(session.id)).is_active, true);
    gate.release();
    await until(async () => !(await session.read()).is_active);
    assert.equal((await session.history()).messages.at(-1).content, "began\nended\n");
    const { events } = await collect(session.stream("on", ECHO));
    assert.deepEqual(events.map(({ type }) => type), ["turn_started", "text_delta", "turn_completed"]);
    await turn.close();
  },

  async "a long response is complete, also for a loop that starts afterwards"({ client }) {
    const session = await client.createDeferredSession();
    const program = 'for (let line = 0; line < 20; line++) console.log("ä".repeat(40_000))';
    const turn = session.stream("go", { command: [process.execPath, "-e", program] });
    const { text } = await turn.result;
    assert.equal(text.length, 20 * 40_001);
    const { events } = await collect(turn);
    const streamed = events.filter(({ type }) => type === "text_delta").map(({ delta }) => delta).join("");
    assert.ok(events.some(({ type }) => type === "stream_truncated") || streamed === text);
    assert.deepEqual((await session.history()).messages.at(-1).content, text);
  },

  async "sessions run in parallel, each with its own events"({ client }) {
    const sessions = await Promise.all([1, 2, 3, 4].map(() => client.createDeferredSession(ECHO)));
    const all = await Promise.all(sessions.map((session, place) => collect(session.stream(`I am ${place}`))));
    all.forEach(({ events }, place) => {
      assert.ok(events.every(({ session_id }) => session_id === sessions[place].id));
      assert.equal(events.at(-1).text, `I am ${place}`);
    });
  },

  async "of turns requested at once, one gets its events and the others are refused as busy"({ client }, t) {
    const session = await client.createDeferredSession(held(t));
    const aborting = new AbortController();
    const turns = [1, 2, 3].map((place) => session.stream(`turn ${place}`, { signal: aborting.signal }));
    const loops = turns.map((turn) => collect(turn));
    await until(async () => (await session.read()).is_active);
    const busy = await Promise.race(loops.map(async (loop) => (await loop).error));
    assert.ok(busy instanceof SessionBusy, String(busy));
    aborting.abort();
    const ended = await Promise.all(loops);
    assert.deepEqual(ended.map(({ error }) => error.name).sort(), ["RequestCancelled", "SessionBusy", "SessionBusy"]);
    for (const { events, error } of ended) {
      assert.equal(events.at(-1)?.type, error instanceof SessionBusy ? undefined : "turn_interrupted");
    }
  },

  async "realms are listed, and one can be read"({ client }) {
    const { realm_id, backend } = await client.configGet();
    assert.ok((await client.realms()).some((row) => row.realm_id === realm_id && row.backend === backend));
    const realm = await client.realm(realm_id);
    assert.equal(realm.backend, "sqlite");
    assert.ok(realm.bytes > 0);
    await assert.rejects(client.realm("no-such-realm"), InvalidParams);
    await assert.rejects(client.realm(".."), InvalidParams);
  },

  async "invalid requests are refused, and the client goes on"({ client }) {
    const circle = {};
    circle.self = circle;
    await assert.rejects(client.configSet(circle), InvalidParams);
    await assert.rejects(client.request("session/read", { session_id: ABSENT, nonsense: 1 }), InvalidParams);
    await assert.rejects(client.request("session/create", {}), InvalidParams);
    await assert.rejects(client.request("no/such", {}), (error) => error instanceof RecollectError && error.code === "METHOD_NOT_FOUND");
    await assert.rejects(client.createSession({ prompt: "x", runner: "nobody" }), RecollectError);
    const huge = "x".repeat(33 << 20);
    await assert.rejects(client.createSession({ prompt: huge, ...ECHO }), InvalidParams);
    assert.equal((await client.createSession({ prompt: "still here", ...ECHO })).result.text, "still here");
  },
};

for (const [name, open] of Object.entries(TRANSPORTS)) {
  test(`over ${name}`, { timeout: 240_000 }, async (t) => {
    const server = await open(t);
    for (const [promise, keep] of Object.entries(PROMISES)) {
      await t.test(promise, { timeout: 60_000 }, (inner) => keep(server, inner));
    }
  });
}
