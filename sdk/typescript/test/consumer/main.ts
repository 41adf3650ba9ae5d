/** A program as a user would write it. It checks what the types allow, and what they must refuse. */

import {
  Client,
  RecollectError,
  SessionNotFound,
  type HistoryPage,
  type Message,
  type SessionEvent,
  type SessionState,
  type TimelineEntry,
  type TurnResult,
} from "recollect-client";

const [program = "recollect", ...first] = JSON.parse(process.env["RECOLLECT_COMMAND"] ?? "[]") as string[];
await using client = await Client.spawn({ command: [program, ...first] });

const session = await client.createSession({ prompt: "hello", command: ["cat"], labels: { kind: "consumer" } });
const result: TurnResult = session.result; // never undefined: the first turn has run
const page: HistoryPage = await session.history({ limit: 10 });
const roles: Message["role"][] = page.messages.map((message) => message.role);
const [state]: SessionState[] = await client.listSessions({ labels: { kind: "consumer" } });
const tokens: number | undefined = state?.usage.total_tokens;

const deferred = await client.createDeferredSession();
const maybe: TurnResult | undefined = deferred.result;
// @ts-expect-error a deferred session may have no result
const none: TurnResult = deferred.result;
// @ts-expect-error a session to be created needs a prompt
const promptless = () => client.createSession({ labels: {} });

function deltaOf(event: SessionEvent): string {
  switch (event.type) {
    case "text_delta":
      return event.delta;
    case "tool_call":
      return event.name;
    case "stream_truncated":
      return `${event.dropped} missing`;
    default:
      return "";
  }
}
let told = "";
for await (const event of deferred.stream("streamed", { command: ["cat"] })) told += deltaOf(event);

const journey = await client.journey();
const { document_id } = await journey.addDocument({ documentType: "note", title: "a" });
const [row] = await journey.documents();
const whole = await journey.document(row!.document_id); // every field of a row is there
const entries: TimelineEntry[] = await journey.timeline();
const titles = entries.map((entry) => (entry.entry_type === "document" ? entry.title : entry.summary));

const found = await client.callTool("search_sessions", { query: "hello", n_hits: 3 });
const count: number | undefined = found.structuredContent?.data?.result_count;
// @ts-expect-error the tool has no such argument
const wrong = () => client.callTool("meerkat_read", { session: "x" });
const unknown = await client.callTool("some_tool_of_tomorrow", {}).catch((error: RecollectError) => error.code);

const absent = await client.session("01a00000-0000-7000-8000-000000000000").read().catch((error: unknown) => error);
const config: { generation: number } = await client.request("config/get", {});

console.log(
  JSON.stringify({
    text: result.text,
    roles,
    hasTokens: (tokens ?? 0) > 0,
    maybe: maybe ?? null,
    told,
    sameDocument: whole.document_id === document_id,
    titles,
    hasCount: count !== undefined,
    unknown,
    isTyped: absent instanceof SessionNotFound && absent instanceof RecollectError,
    generation: config.generation,
  }),
);
void [none, promptless, wrong];
