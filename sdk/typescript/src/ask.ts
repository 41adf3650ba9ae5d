/** From a method of the client to a request, and from its answer to a value that is what its type says. */

import { errorOf } from "./errors.js";
import { asObject } from "./json.js";
import type { Method } from "./operations.js";
import type { HistoryPage, RealmRow, SessionState, TurnResult, Usage } from "./types.js";
import type { Answer, Request, ToolResult, Wire } from "./wire.js";

/** What a value of a type must have: a kind, the shape of all rows, or fields; what may be missing or null is not looked at. */
type Shape<T> = [T] extends [string]
  ? "string"
  : [T] extends [number]
    ? "number"
    : [T] extends [boolean]
      ? "boolean"
      : T extends readonly (infer Row)[]
        ? readonly [Shape<Row>]
        : { readonly [Name in Needed<T>]: Shape<T[Name]> };
type Needed<T> = {
  [Name in keyof T]-?: {} extends Pick<T, Name> ? never : null extends T[Name] ? never : Name;
}[keyof T];
type AnyShape = string | readonly [AnyShape] | { readonly [name: string]: AnyShape };

const USAGE: Shape<Usage> = {
  input_tokens: "number",
  output_tokens: "number",
  cache_read_tokens: "number",
  cache_write_tokens: "number",
  reasoning_tokens: "number",
  total_tokens: "number",
};
const TURN: Shape<TurnResult> = {
  session_id: "string",
  text: "string",
  usage: USAGE,
  turns: "number",
  tool_calls: "number",
  stop_reason: "string",
};
const STATE: Shape<SessionState> = {
  session_id: "string",
  realm_id: "string",
  instance_id: "string",
  backend: "string",
  config_generation: "number",
  created_at: "string",
  updated_at: "string",
  message_count: "number",
  is_active: "boolean",
  labels: {},
  usage: USAGE,
  turns: "number",
  runner: "string",
};
const PAGE: Shape<HistoryPage> = {
  session_id: "string",
  message_count: "number",
  offset: "number",
  limit: "number",
  has_more: "boolean",
  messages: [{ role: "string", content: "string", created_at: "string" }],
};
const REALM: Shape<RealmRow> = { realm_id: "string", backend: "string" };
const CONFIG: Shape<Answer<"config/get">> = {
  config: {},
  generation: "number",
  realm_id: "string",
  instance_id: "string",
  backend: "string",
};
const DOCUMENT: Shape<Answer<"document/get">> = {
  document_id: "string",
  journey_id: "string",
  document_type: "string",
  title: "string",
  created_at: "string",
};
const TOOL_RESULT: Shape<ToolResult> = { content: [{ type: "string" }] };

const ANSWERS: { readonly [M in Method]: Shape<Answer<M>> } = {
  "journey/get_or_create": { journey_id: "string", created_at: "string", session_count: "number", is_new: "boolean" },
  "journey/query": { journey_id: "string", sessions: [{}], total_results: "number" },
  "document/add": { document_id: "string", journey_id: "string", document_type: "string", created_at: "string" },
  "journey/link": { journey_id: "string", session_id: "string" },
  "journey/timeline": { journey_id: "string", entries: [{}] },
  "document/list": { documents: [{}] },
  "document/get": DOCUMENT,
  "document/delete": DOCUMENT,
  "journey/delete": { journey_id: "string", session_count: "number", document_count: "number" },
  "session/create": { session_id: "string" },
  "turn/start": TURN,
  "turn/interrupt": { session_id: "string", interrupted: "boolean" },
  "session/read": STATE,
  "session/history": PAGE,
  "session/list": { sessions: [STATE] },
  "session/archive": { session_id: "string", archived: "boolean" },
  "config/get": CONFIG,
  "config/set": CONFIG,
  "config/patch": CONFIG,
  "realm/list": { realms: [REALM] },
  "realm/get": REALM,
};

/** Ask, and take the answer for what it should be. */
export async function ask<M extends Method>(wire: Wire, method: M, params: Request<M>): Promise<Answer<M>> {
  return shaped(method, await wire.call(method, params));
}

/** What a method answered, if it can be that. */
export function shaped<M extends Method>(method: M, answer: unknown): Answer<M> {
  check(method, answer, ANSWERS[method] as AnyShape);
  return answer as Answer<M>;
}

export async function callTool(wire: Wire, name: string, given: object): Promise<ToolResult> {
  const result = await wire.tool(name, given);
  check(name, result, TOOL_RESULT as AnyShape);
  return result;
}

function check(asked: string, answer: unknown, shape: AnyShape): void {
  const odd = misfit(answer, shape, "it");
  if (odd === undefined) return;
  throw errorOf("INTERNAL_ERROR", `The answer to ${asked} is not one that this client can read: ${odd} is something else`);
}

/** The place, named from `at` on, where a value is not what it should be. */
function misfit(value: unknown, shape: AnyShape, at: string): string | undefined {
  if (typeof shape === "string") return typeof value === shape ? undefined : at;
  if (isRows(shape)) {
    if (!Array.isArray(value)) return at;
    return value.map((row, place) => misfit(row, shape[0], `${at}[${place}]`)).find((odd) => odd !== undefined);
  }
  const fields = asObject(value);
  if (fields === undefined) return at;
  const names = Object.entries(shape).map(([name, inner]) => misfit(fields[name], inner, `${at}.${name}`));
  return names.find((odd) => odd !== undefined);
}

function isRows(shape: Exclude<AnyShape, string>): shape is readonly [AnyShape] {
  return Array.isArray(shape);
}
