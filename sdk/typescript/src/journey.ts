/** A journey: one person's sessions and documents over time. */

import type {
  AddDocumentToJourneyAnswer,
  AddDocumentToJourneyRequest,
  DeleteJourneyAnswer,
  GetDocumentAnswer,
  GetOrCreateJourneyAnswer,
  JourneyTimelineAnswer,
  JsonObject,
  LinkSessionToJourneyAnswer,
  ListDocumentsAnswer,
  QueryJourneyHistoryAnswer,
} from "./operations.js";
import type { Session } from "./session.js";
import type { Wire } from "./wire.js";

export type DocumentType = AddDocumentToJourneyRequest["document_type"];
/** A document, as a list of them shows it. */
export type DocumentRow = ListDocumentsAnswer["documents"][number];
export type TimelineEntry = JourneyTimelineAnswer["entries"][number];

export interface QueryOptions {
  /** Words of summaries; any one of several is enough, and a `"quoted part"` must occur. Without: the newest. */
  query?: string;
  /** From then on, and until then: ISO 8601, both included. */
  fromDate?: string;
  toDate?: string;
  /** How many sessions, at most 100. Default 10. */
  limit?: number;
  includeDocuments?: boolean;
}

export interface NewDocument {
  type: DocumentType;
  title?: string;
  /** A text, or a path, which is never opened. */
  content?: string;
  metadata?: JsonObject;
}

export interface LinkOptions {
  /** What the session is shown and found by. Default: made from the session. */
  summary?: string;
  /** What was diagnosed, or whether. Default: as observed. */
  diagnosis?: string | boolean;
}

export class Journey {
  /** The journey's UUID. */
  readonly id: string;
  /** What was known of it when it was asked for. */
  readonly found: GetOrCreateJourneyAnswer;
  readonly #wire: Wire;

  /** @internal Journeys come from a `Client`. */
  constructor(wire: Wire, found: GetOrCreateJourneyAnswer) {
    this.#wire = wire;
    this.id = found.journey_id;
    this.found = found;
  }

  /** Its sessions, by words of their summaries, by date, or the newest. */
  query(options: QueryOptions = {}): Promise<QueryJourneyHistoryAnswer> {
    return this.#wire.call("journey/query", {
      journey_id: this.id,
      query: options.query,
      from_date: options.fromDate,
      to_date: options.toDate,
      limit: options.limit,
      include_documents: options.includeDocuments,
    });
  }

  /** Put a session into this journey, out of any other one. */
  link(session: Session | string, { summary, diagnosis }: LinkOptions = {}): Promise<LinkSessionToJourneyAnswer> {
    const session_id = typeof session === "string" ? session : session.id;
    return this.#wire.call("journey/link", { journey_id: this.id, session_id, summary, diagnosis });
  }

  /** Sessions and documents, oldest first. */
  async timeline({ limit }: { limit?: number } = {}): Promise<TimelineEntry[]> {
    return (await this.#wire.call("journey/timeline", { journey_id: this.id, limit })).entries;
  }

  addDocument({ type, title, content, metadata }: NewDocument): Promise<AddDocumentToJourneyAnswer> {
    const given = { journey_id: this.id, document_type: type, title, content, metadata };
    return this.#wire.call("document/add", given);
  }

  /** Its documents, newest first. */
  async documents(): Promise<DocumentRow[]> {
    return (await this.#wire.call("document/list", { journey_id: this.id })).documents;
  }

  /** One document, whole. */
  document(documentId: string): Promise<GetDocumentAnswer> {
    return this.#wire.call("document/get", { journey_id: this.id, document_id: documentId });
  }

  /** Remove a document; the answer is what it was. */
  deleteDocument(documentId: string): Promise<GetDocumentAnswer> {
    return this.#wire.call("document/delete", { journey_id: this.id, document_id: documentId });
  }

  /** Delete the journey with its documents; its sessions stay, in no journey. */
  delete(): Promise<DeleteJourneyAnswer> {
    return this.#wire.call("journey/delete", { journey_id: this.id });
  }
}
