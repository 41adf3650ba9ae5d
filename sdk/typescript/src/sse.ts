/** Server-Sent Events, read from pieces of text that may end anywhere. */

export interface SseMessage {
  /** Its name; `message` where it has none. */
  event: string;
  data: string;
}

export class SseReader {
  #line: string[] = []; // pieces of the line that is coming: joined once, however many there are
  #isAfterReturn = false; // the last piece ended with \r: a \n that comes next belongs to it
  #event = "";
  #data: string[] = [];

  /** Take the next piece; the messages that end in it. One that the end of everything cuts off never comes. */
  push(piece: string): SseMessage[] {
    if (piece === "") return [];
    const text = this.#isAfterReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#isAfterReturn = piece.endsWith("\r");
    const [first = "", ...rest] = text.split(/\r\n|\n|\r/);
    const messages: SseMessage[] = [];
    this.#line.push(first);
    for (const next of rest) {
      const message = this.#take(this.#line.join(""));
      if (message !== undefined) messages.push(message);
      this.#line = [next];
    }
    return messages;
  }

  #take(line: string): SseMessage | undefined {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    return undefined; // other fields, and comments, which have an empty name, are nothing to us
  }

  #finish(): SseMessage | undefined {
    const message = { event: this.#event || "message", data: this.#data.join("\n") };
    const hasData = this.#data.length > 0;
    this.#event = "";
    this.#data = [];
    return hasData ? message : undefined;
  }
}
