/** JSON to and from servers. */

import { errorOf } from "./errors.js";
import type { JsonObject } from "./operations.js";

const SHOWN = 200; // characters of what a server should not have said

/** A value as JSON. What cannot be said in JSON, such as a circle, is a request that no server can answer. */
export function encoded(value: unknown): string {
  try {
    return JSON.stringify(value, finite);
  } catch (reason) {
    throw errorOf("INVALID_PARAMS", `the request cannot be written as JSON: ${(reason as Error).message}`);
  }
}

/** What is no number would become null, and mean that nothing was said. */
function finite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`${name} is ${value}`);
  return value;
}

/** The JSON object that a text is; undefined of any other text. */
export function objectOf(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** The beginning of a text, for an error to show. */
export function shown(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
