/** Lines to and from a server, whatever they travel through. */

import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

import type { ConnectionLost } from "./errors.js";

export interface Lines {
  /** Who is at the other end, for errors to say. */
  readonly name: string;
  /** Be told of every line, and of the end; to be called once, before anything can have come. */
  listen(onLine: (line: string) => void, onEnd: (reason: ConnectionLost) => void): void;
  send(line: string): void;
  close(): Promise<void>;
}

/** Cut what comes into lines. A last one without its end was torn off, and is dropped. */
export function readLines(from: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let pieces: string[] = []; // of the line that is coming: joined once, however many there are
  from.on("data", (chunk: Buffer) => {
    const [first = "", ...rest] = decoder.write(chunk).split("\n");
    pieces.push(first);
    for (const next of rest) {
      onLine(pieces.join(""));
      pieces = [next];
    }
  });
}
