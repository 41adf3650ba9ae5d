/** JSON to and from servers. */

import { errorOf } from "./errors.js";
import type { JsonObject } from "./operations.js";

const SHOWN_CHARS = 200; // that an error quotes of an unreadable message: two or three lines of a terminal

/** A value as JSON. A value that JSON cannot express, such as a cycle, is `InvalidParams`. */
export function encode(value: unknown): string {
  try {
    return JSON.stringify(value, refuseNonFinite);
  } catch (reason) {
    throw errorOf("INVALID_PARAMS", `the request cannot be written as JSON: ${(reason as Error).message}`);
  }
}

/** Refuse NaN and Infinity, which would silently become null. */
function refuseNonFinite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`${name} is ${value}`);
  return value;
}

/** The JSON object in a text, or undefined if it is anything else. */
export function decodeObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** The beginning of an unreadable message, for an error. */
export function shorten(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}
