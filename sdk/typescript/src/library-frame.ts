/** The frame of the library's answers (data, page and warnings), and answers that are documents. */

import { randomUUID } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { asObject } from "./json.js";
import type { ExportedDocument, JsonObject } from "./operations.js";
import { call, type LibraryMethod } from "./responses.js";
import type { Request, Transport } from "./transport.js";

/** An answer of the library, with what it may lack and why. */
export type LibraryAnswer<Data> = Data & { warnings: string[] };

/** A page of a list. */
export type LibraryPage<Data> = LibraryAnswer<Data> & {
  /** The `cursor` of the next page; null on the last one. */
  next_cursor: string | null;
  /** The number of items on all pages, if the server knows it. */
  total_count: number | null;
};

/** Call a method of the library. Options have the names of this language; those that are undefined are left out. */
export async function callLibrary<Data>(
  transport: Transport,
  method: LibraryMethod,
  options: object,
): Promise<LibraryAnswer<Data>> {
  const { data, page, warnings } = await call(transport, method, toParams(options) as Request<typeof method>);
  const end = page === undefined ? {} : { next_cursor: page.next, total_count: page.total };
  return { ...data, ...end, warnings } as unknown as LibraryAnswer<Data>;
}

/** Call a method whose answer is a document. It is written to the file or into the folder `to`, else into the answer. */
export async function fetchDocument<Options extends { to?: string }>(
  transport: Transport,
  method: LibraryMethod,
  { to, ...options }: Options,
): Promise<LibraryAnswer<ExportedDocument>> {
  const params = toParams({ format: "html", ...options }); // over HTTP the client describes the document itself
  if (to !== undefined) return saveDocument(transport, method, params, to);
  const pieces: string[] = [];
  const described = await transport.download(method, params, async (piece) => void pieces.push(piece));
  return { ...asAnswer(described), content: pieces.join("") };
}

/** Write a file beside its final place and move it there at the end, so that it exists only once it is complete. */
async function saveDocument(
  transport: Transport,
  method: LibraryMethod,
  params: JsonObject,
  to: string,
): Promise<LibraryAnswer<ExportedDocument>> {
  const isFolder = await stat(to).then((found) => found.isDirectory(), () => false);
  const folder = isFolder ? to : dirname(to);
  const part = join(folder, `.${randomUUID()}.part`);
  const file = await open(part, "wx", 0o600); // only its owner can read it: it has what agents read and wrote
  try {
    const described = asAnswer(await transport.download(method, params, async (piece) => void (await file.write(piece))));
    await file.close();
    await rename(part, isFolder ? join(folder, basename(described.file_name)) : to);
    return described;
  } finally {
    await file.close();
    await rm(part, { force: true });
  }
}

function asAnswer(description: JsonObject): LibraryAnswer<ExportedDocument> {
  return description as unknown as LibraryAnswer<ExportedDocument>;
}

/** Options as a request has them: `dryRun` becomes `dry_run`. */
export function toParams(options: object): JsonObject {
  const present = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]));
}

/** What the headers of a document say about it. */
export function describeDocument(headers: Headers, format: unknown): JsonObject {
  const named = /filename="([^"]+)"/.exec(headers.get("content-disposition") ?? "");
  return {
    format,
    media_type: (headers.get("content-type") ?? "").split(";")[0],
    file_name: named?.[1] ?? "document",
    receipt: asObject(JSON.parse(headers.get("recollect-receipt") ?? "{}")) ?? {},
    warnings: JSON.parse(headers.get("recollect-warnings") ?? "[]") as unknown,
  };
}
