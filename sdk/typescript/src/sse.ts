/** Server-Sent Events, parsed from pieces of text that may end anywhere. */

export interface SseMessage {
  /** The message's name, or `message` if it has none. */
  event: string;
  data: string;
  /** Only if the message has one. */
  id?: string;
}

export class SseReader {
  #line: string[] = []; // pieces of the current line: joined once, because a line may have many
  #endsWithReturn = false; // the last piece ended with \r, so a \n that comes next belongs to it
  #event = "";
  #id: string | undefined;
  #data: string[] = [];

  /** Parse the next piece and return the messages that end in it. An incomplete last message is dropped. */
  push(piece: string): SseMessage[] {
    if (piece === "") return [];
    const text = this.#endsWithReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#endsWithReturn = piece.endsWith("\r");
    const [first = "", ...rest] = text.split(/\r\n|\n|\r/);
    const messages: SseMessage[] = [];
    this.#line.push(first);
    for (const next of rest) {
      const message = this.#parseLine(this.#line.join(""));
      if (message !== undefined) messages.push(message);
      this.#line = [next];
    }
    return messages;
  }

  #parseLine(line: string): SseMessage | undefined {
    if (line === "") return this.#finishMessage();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    else if (field === "data") this.#data.push(value);
    return undefined; // ignore other fields, and comments, whose field name is empty
  }

  #finishMessage(): SseMessage | undefined {
    const message: SseMessage = { event: this.#event || "message", data: this.#data.join("\n") };
    if (this.#id !== undefined) message.id = this.#id;
    const hasData = this.#data.length > 0;
    this.#event = "";
    this.#id = undefined;
    this.#data = [];
    return hasData ? message : undefined;
  }
}
