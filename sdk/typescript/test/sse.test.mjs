/** Server-Sent Events are parsed the same, wherever they are split. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { SseReader } from "../dist/sse.js";

const STREAM = [
  ": a comment\n\n",
  "id: 1\ndata: {\"a\":1}\n\n",
  "data:no space\r\n\r\n",
  "event: result\r\ndata: two\r\ndata:  lines\r\n\r\n",
  "data: old\rretry: 7\r\r",
  "data\n\n",
  "event: no data, so nothing\n\n",
  "data: grün ☃ 😀: a colon\n\n",
  "data: torn off\n",
].join("");
const MESSAGES = [
  { event: "message", data: '{"a":1}', id: "1" },
  { event: "message", data: "no space" },
  { event: "result", data: "two\n lines" },
  { event: "message", data: "old" },
  { event: "message", data: "" },
  { event: "message", data: "grün ☃ 😀: a colon" },
];

function read(pieces) {
  const reader = new SseReader();
  return pieces.flatMap((piece) => reader.push(piece));
}

test("in one piece", () => {
  assert.deepEqual(read([STREAM]), MESSAGES);
});

test("in any two pieces", () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    assert.deepEqual(read([STREAM.slice(0, cut), STREAM.slice(cut)]), MESSAGES, `cut at ${cut}`);
  }
});

test("in pieces of any size", () => {
  for (let size = 1; size < 12; size++) {
    const pieces = STREAM.match(new RegExp(`[^]{1,${size}}`, "g"));
    assert.deepEqual(read(["", ...pieces.flatMap((piece) => [piece, ""])]), MESSAGES, `pieces of ${size}`);
  }
});

test("a message is returned as soon as it ends", () => {
  const reader = new SseReader();
  assert.deepEqual(reader.push("data: x\r\n\r"), [{ event: "message", data: "x" }]);
  assert.deepEqual(reader.push("\ndata: y\n"), []);
  assert.deepEqual(reader.push("\n"), [{ event: "message", data: "y" }]);
});
