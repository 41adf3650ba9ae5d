/** Journeys and tools, over every transport. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { InvalidParams } from "recollect-client";

import { ABSENT, until, TRANSPORTS } from "./servers.mjs";

const ECHO = { command: ["cat"] };

const PROMISES = {
  async "a person has one journey, created once"({ client }) {
    const userId = randomUUID();
    const journey = await client.journey({ userId });
    assert.equal(journey.found.is_new, true);
    assert.equal(journey.found.user_id, userId);
    const again = await client.journey({ userId });
    assert.deepEqual([again.id, again.found.is_new], [journey.id, false]);
    assert.notEqual((await client.journey()).id, (await client.journey()).id);
    const session = await client.createSession({ prompt: "mine", ...ECHO, userId });
    const [entry] = await journey.timeline();
    assert.deepEqual([entry.entry_type, entry.entry_id], ["session", session.id]);
  },

  async "sessions of a journey are linked, found by words and by date, and listed in time order"({ client }) {
    const journey = await client.journey();
    const joined = await client.createSession({ prompt: "the anchor drags", ...ECHO, journeyId: journey.id });
    const linked = await client.createSession({ prompt: "the mast creaks", ...ECHO });
    assert.deepEqual(await journey.link(linked, { summary: "Rigging and mast", diagnosis: true }), {
      journey_id: journey.id,
      session_id: linked.id,
    });
    const all = await until(async () => {
      const found = await journey.query();
      return found.total_results === 2 && found;
    });
    assert.deepEqual(new Set(all.sessions.map(({ session_id }) => session_id)), new Set([joined.id, linked.id]));
    const [found] = (await journey.query({ query: "rigging", limit: 5, includeDocuments: true })).sessions;
    assert.equal(found.session_id, linked.id);
    assert.equal(found.has_diagnosis, true);
    assert.equal(found.summary, "Rigging and mast");
    assert.ok(found.relevance_score > 0 && found.created_at.length > 0);
    assert.deepEqual((await journey.query({ fromDate: "2100-01-01T00:00:00Z" })).sessions, []);
    assert.deepEqual((await journey.query({ toDate: "2000-01-01T00:00:00Z" })).sessions, []);
    assert.deepEqual((await journey.timeline({ limit: 1 })).map(({ entry_type }) => entry_type), ["session"]);
    await assert.rejects(journey.query({ limit: 101 }), InvalidParams);
  },

  async "documents are added, listed, read and deleted, and the journey with them"({ client }) {
    const journey = await client.journey();
    const { document_id: id } = await journey.addDocument({
      documentType: "note",
      title: "Chart",
      content: "Reefs, 3 m",
      metadata: { sheet: 7 },
    });
    const [row] = await journey.documents();
    assert.deepEqual({ ...row, created_at: "" }, { document_id: id, document_type: "note", title: "Chart", created_at: "" });
    const whole = await journey.document(id);
    assert.deepEqual([whole.content, whole.metadata, whole.journey_id], ["Reefs, 3 m", { sheet: 7 }, journey.id]);
    const [entry] = await journey.timeline();
    assert.deepEqual([entry.entry_type, entry.entry_id, entry.title], ["document", id, "Chart"]);
    assert.equal((await journey.deleteDocument(id)).document_id, id);
    assert.deepEqual(await journey.documents(), []);
    await journey.addDocument({ documentType: "artifact" });
    assert.deepEqual(await journey.delete(), { journey_id: journey.id, session_count: 0, document_count: 1 });
    await assert.rejects(journey.timeline(), (error) => error instanceof InvalidParams && error.details.status === 404);
    await assert.rejects(journey.addDocument({ documentType: "poem" }), (error) => error.details.status === 400);
  },

  async "a tool of every family works, also on a live session"({ client }) {
    const word = `harbour${Date.now()}`;
    const session = await client.createSession({ prompt: `Where is the ${word}?`, ...ECHO });
    const history = await until(async () => {
      const found = await client.callTool("search_sessions", { query: word, n_hits: 1 });
      return found.structuredContent.data.result_count > 0 && found;
    });
    assert.equal(history.isError, false);
    assert.equal(history.structuredContent.tool, "search_sessions");
    const trace = await client.callTool("search_event_previews", { query: word });
    assert.match(trace.content[0].text, new RegExp(word));
    const memory = await client.callTool("search", { query: "a thing nobody ever said" });
    assert.equal(memory.isError, false);
    assert.equal(memory.content[0].type, "text");
    const journeys = await client.callTool("get_or_create_journey", {});
    assert.equal(journeys.structuredContent.is_new, true);
    const sessions = await client.callTool("meerkat_read", { session_id: session.id });
    assert.equal(sessions.structuredContent.session_id, session.id);
  },

  async "an error of a tool is a result, and an unknown tool is an error"({ client }) {
    const absent = await client.callTool("meerkat_read", { session_id: ABSENT });
    assert.equal(absent.isError, true);
    assert.equal(JSON.parse(absent.content[0].text).code, "SESSION_NOT_FOUND");
    assert.equal((await client.callTool("open", { id: "nonsense" })).structuredContent.error.code, "invalid_id");
    assert.equal((await client.callTool("analyze_session", { session_id: "*" })).isError, true);
    assert.equal((await client.callTool("query_journey_history", { journey_id: ABSENT })).isError, true);
    for (const name of ["no_such_tool", "", "..", "a/b"]) await assert.rejects(client.callTool(name, {}), InvalidParams, name);
  },
};

for (const [name, open] of Object.entries(TRANSPORTS)) {
  test(`over ${name}`, { timeout: 120_000 }, async (t) => {
    const server = await open(t);
    for (const [promise, keep] of Object.entries(PROMISES)) {
      await t.test(promise, { timeout: 60_000 }, (inner) => keep(server, inner));
    }
  });
}
