/** The library: the same answers over every transport, lists that fetch their pages, documents, changes and errors. */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { AmbiguousId, Client, InvalidFilter, InvalidParams, NotFound, RecollectError } from "recollect-client";

import { COMMAND, folder, serveLibrary } from "./servers.mjs";

const LIMIT = { timeout: 60_000 };
const SESSIONS = 6; // in the archive that the caller has prepared
const clients = {};
let server;

before(async () => {
  server = await serveLibrary();
  const { url, port, token } = server;
  clients.http = await Client.http({ url, token });
  clients.tcp = await Client.connect({ port, token });
  clients.stdio = await Client.spawn({ realm: "main", command: COMMAND });
});

after(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await server?.end();
});

/** What every transport answers, which must be the same. */
async function everywhere(ask) {
  const answers = [];
  for (const client of [clients.stdio, clients.tcp, clients.http]) answers.push(await ask(client.library));
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  return answers[0];
}

test("sessions are found by filters, as texts, lists or a query", LIMIT, async () => {
  const byOptions = await everywhere((library) => library.sessions({ agent: "codex", project: ["app", "reef"] }).all());
  const byQuery = await everywhere((library) => library.sessions({ query: "agent:codex project:app project:reef" }).all());
  assert.equal(byOptions.length, 2);
  assert.deepEqual(byQuery, byOptions);
  const without = await everywhere((library) => library.sessions({ agent: "-codex", failed: false }).all());
  assert.deepEqual(new Set(without.map((session) => session.agent)), new Set(["claude-code"]));
});

test("a list fetches page after page, and each session comes once", LIMIT, async () => {
  const ids = await everywhere((library) => library.sessions({ limit: 4, sort: "started" }).all().then((all) => all.map(({ id }) => id)));
  assert.equal(new Set(ids).size, SESSIONS);
  const page = await everywhere((library) => library.sessions({ limit: 4, facets: ["agent", "project"] }).page());
  assert.equal(page.sessions.length, 4);
  assert.equal(page.total_count, SESSIONS);
  assert.equal(typeof page.next_cursor, "string");
  assert.deepEqual(page.facets.agent.map(({ value, count }) => [value, count]), [["claude-code", 3], ["codex", 3]]);
  const pages = await everywhere(async (library) => {
    const sizes = [];
    for await (const each of library.sessions({ limit: 4 }).pages()) sizes.push(each.sessions.length);
    return sizes;
  });
  assert.deepEqual(pages, [4, 2]);
  assert.equal(await everywhere((library) => library.sessions({ project: "app" }).total()), 3);
  assert.equal(await everywhere((library) => library.sessions({ project: "app", state: "working" }).first()), undefined);
});

test("a list requests nothing before it is used", LIMIT, () => {
  clients.http.library.sessions({ agent: "no such agent" });
});

test("a session has its turns, and its events are read from a place on", LIMIT, async () => {
  const { session, turns, warnings } = await everywhere((library) => library.session("last"));
  assert.ok(Array.isArray(warnings));
  assert.equal(turns.length, session.turns);
  const events = await everywhere((library) => library.events(session.id, { from: 1, limit: 1 }).all());
  assert.deepEqual(events.map((event) => event.sequence), events.map((_, index) => index + 1));
});

test("search, usage and files give typed items", LIMIT, async () => {
  const hits = await everywhere((library) => library.search("harbourmaster", { mode: "text", matches: 1, limit: 2 }).all());
  assert.equal(hits.length, SESSIONS);
  assert.ok(hits.every((hit) => hit.matches.length === 1));
  const rows = await everywhere((library) => library.usage({ by: "agent" }).all());
  assert.deepEqual(new Set(rows.map((row) => row.key)), new Set(["claude-code", "codex"]));
  const [change] = await everywhere((library) => library.fileHistory("deck.py", { operation: "changed" }).all());
  assert.deepEqual([change.lines_added, change.lines_removed], [2, 1]);
});

test("labels may have any characters, and notes are shown", LIMIT, async () => {
  const { id } = await clients.http.library.sessions().first();
  for (const { library } of [clients.stdio, clients.tcp, clients.http]) {
    assert.deepEqual((await library.label(id, "a/b c?")).labels, ["a/b c?"]);
    assert.equal((await library.note(id, "é\n")).note, "é\n");
    assert.equal((await library.sessions({ label: "a/b c?" }).first()).note, "é\n");
    assert.deepEqual((await library.unlabel(id, "a/b c?")).labels, []);
  }
  await clients.http.library.note(id, "");
});

test("a document goes to a file, into a folder, or into the answer", LIMIT, async (t) => {
  const place = folder(t);
  const answer = await everywhere((library) => library.export("last", { format: "markdown" }));
  assert.equal(answer.receipt.sessions, 1);
  for (const [name, { library }] of Object.entries(clients)) {
    const written = await library.export("last", { format: "markdown", to: join(place, `${name}.md`) });
    assert.equal(readFileSync(join(place, `${name}.md`), "utf8"), answer.content);
    assert.equal(written.file_name, answer.file_name);
    mkdirSync(join(place, name));
    await library.export("last", { format: "markdown", to: join(place, name) });
    assert.deepEqual(readdirSync(join(place, name)), [answer.file_name]);
  }
  assert.equal(statSync(join(place, "http.md")).mode & 0o777, 0o600);
  await assert.rejects(clients.http.library.export("no-such-session", { to: join(place, "none") }), NotFound);
  assert.ok(!readdirSync(place).some((name) => name === "none" || name.endsWith(".part")));
});

test("options have the names of this language", LIMIT, async () => {
  const receipt = await everywhere((library) => library.forget("last", { dryRun: true }));
  assert.equal(receipt.dry_run, true);
  assert.equal(await clients.http.library.sessions().total(), SESSIONS);
});

test("errors have their classes and say what would fit", LIMIT, async () => {
  for (const { library } of Object.values(clients)) {
    await assert.rejects(library.session("session:00000000000000000000000000000000"), NotFound);
    const ambiguous = await library.session("aaaaaaaa").catch((error) => error);
    assert.ok(ambiguous instanceof AmbiguousId && ambiguous.matches.length === 2);
    const invalid = await library.sessions({ agent: "claude" }).first().catch((error) => error);
    assert.ok(invalid instanceof InvalidFilter && invalid instanceof InvalidParams);
    assert.equal(invalid.code, "invalid_filter");
    assert.ok(invalid.didYouMean.includes("claude-code"));
  }
});

test("the stream tells what changes, and goes on after a position", LIMIT, async () => {
  const stream = clients.http.library.stream();
  const { value: ready } = await stream.next();
  assert.equal(ready.type, "ready");
  const session = await clients.http.createSession({ prompt: "hello", command: ["cat"] });
  const { value: change } = await stream.next();
  assert.deepEqual([change.type, change.uuid], ["session_changed", session.id]);
  await stream.return();
  for await (const missed of clients.http.library.stream({ after: ready.position })) {
    assert.equal(missed.uuid, session.id);
    break;
  }
  const aborting = new AbortController();
  const aborted = clients.http.library.stream({ signal: aborting.signal });
  await aborted.next();
  aborting.abort();
  assert.equal((await Promise.race([aborted.next(), sleep(20_000, {}, { ref: false })])).done, true);
  await clients.http.archiveSession(session.id);
  for (const name of ["tcp", "stdio"]) {
    const refused = await clients[name].library.stream().next().catch((error) => error);
    assert.ok(refused instanceof RecollectError && refused.code === "NOT_OFFERED");
  }
});
