/** Calls methods and checks that each response has the fields of its type. */

import { errorOf } from "./errors.js";
import { asObject } from "./json.js";
import type { Method } from "./operations.js";
import type { HistoryPage, RealmRow, SessionState, TurnResult, Usage } from "./types.js";
import type { Answer, Request, ToolResult, Transport } from "./transport.js";

/** The required shape of a value: a primitive type, the shape of all items, or fields that are neither optional nor nullable. */
type Shape<T> = [T] extends [string]
  ? "string"
  : [T] extends [number]
    ? "number"
    : [T] extends [boolean]
      ? "boolean"
      : T extends readonly (infer Item)[]
        ? readonly [Shape<Item>]
        : { readonly [Name in RequiredNames<T>]: Shape<T[Name]> };
type RequiredNames<T> = {
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

/** Methods of the library. All their responses have the same frame. */
export type LibraryMethod = Extract<Method, `library/${string}`>;
/** All other methods: each has a shape of its own. */
type ShapedMethod = Exclude<Method, LibraryMethod>;

const FRAME: AnyShape = { data: {}, warnings: ["string"] };
const SHAPES: { readonly [M in ShapedMethod]: Shape<Answer<M>> } = {
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

/** Call a method and check its response. */
export async function call<M extends Method>(transport: Transport, method: M, params: Request<M>): Promise<Answer<M>> {
  return checked(method, await transport.call(method, params));
}

/** The response to a method. Throws if a required field is missing or has another type. */
export function checked<M extends Method>(method: M, response: unknown): Answer<M> {
  check(method, response, Object.hasOwn(SHAPES, method) ? (SHAPES[method as ShapedMethod] as AnyShape) : FRAME);
  return response as Answer<M>;
}

export async function callTool(transport: Transport, name: string, args: object): Promise<ToolResult> {
  const result = await transport.callTool(name, args);
  check(name, result, TOOL_RESULT as AnyShape);
  return result;
}

function check(method: string, response: unknown, shape: AnyShape): void {
  const path = findMismatch(response, shape, "response");
  if (path === undefined) return;
  throw errorOf("INTERNAL_ERROR", `This client cannot read the server's response to ${method}: ${path} is missing or of another type`);
}

/** The path of the first part that does not have its shape. */
function findMismatch(value: unknown, shape: AnyShape, path: string): string | undefined {
  if (typeof shape === "string") return typeof value === shape ? undefined : path;
  if (isArrayShape(shape)) {
    if (!Array.isArray(value)) return path;
    return value.map((item, index) => findMismatch(item, shape[0], `${path}[${index}]`)).find((found) => found !== undefined);
  }
  const fields = asObject(value);
  if (fields === undefined) return path;
  const mismatches = Object.entries(shape).map(([name, inner]) => findMismatch(fields[name], inner, `${path}.${name}`));
  return mismatches.find((found) => found !== undefined);
}

function isArrayShape(shape: Exclude<AnyShape, string>): shape is readonly [AnyShape] {
  return Array.isArray(shape);
}
