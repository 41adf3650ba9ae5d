/** A journey: one person's sessions and documents over time. */

import { ask } from "./ask.js";
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
// The contract names what a row may have; a server of ours leaves nothing out.
/** A document, as a list of them shows it. */
export type DocumentRow = Required<ListDocumentsAnswer["documents"][number]>;
/** A session, as a journey tells of it; with `estimated_time` where its log has no times. */
export type JourneySession = Required<QueryJourneyHistoryAnswer["sessions"][number]> & { estimated_time?: boolean };
/** Sessions that were found, of `total_results`; documents where they were asked for. */
export type JourneyHistory = Omit<QueryJourneyHistoryAnswer, "sessions" | "documents"> & {
  sessions: JourneySession[];
  documents?: DocumentRow[];
};
type Entry = JourneyTimelineAnswer["entries"][number];
type EntryHead = Required<Pick<Entry, "entry_id" | "created_at">>;
/** A session or a document, in its place in time. */
export type TimelineEntry =
  | (EntryHead & { entry_type: "session" } & Required<Pick<Entry, "summary" | "has_diagnosis">> &
      Pick<Entry, "estimated_time">)
  | (EntryHead & { entry_type: "document" } & Required<Pick<Entry, "document_type" | "title">>);

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
  documentType: DocumentType;
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
  async query(options: QueryOptions = {}): Promise<JourneyHistory> {
    const found = await ask(this.#wire, "journey/query", {
      journey_id: this.id,
      query: options.query,
      from_date: options.fromDate,
      to_date: options.toDate,
      limit: options.limit,
      include_documents: options.includeDocuments,
    });
    return found as JourneyHistory;
  }

  /** Put a session into this journey, out of any other one. */
  link(session: Session | string, { summary, diagnosis }: LinkOptions = {}): Promise<LinkSessionToJourneyAnswer> {
    const session_id = typeof session === "string" ? session : session.id;
    return ask(this.#wire, "journey/link", { journey_id: this.id, session_id, summary, diagnosis });
  }

  /** Sessions and documents, oldest first. */
  async timeline({ limit }: { limit?: number } = {}): Promise<TimelineEntry[]> {
    const { entries } = await ask(this.#wire, "journey/timeline", { journey_id: this.id, limit });
    return entries as TimelineEntry[];
  }

  addDocument({ documentType, title, content, metadata }: NewDocument): Promise<AddDocumentToJourneyAnswer> {
    const given = { journey_id: this.id, document_type: documentType, title, content, metadata };
    return ask(this.#wire, "document/add", given);
  }

  /** Its documents, newest first. */
  async documents(): Promise<DocumentRow[]> {
    const { documents } = await ask(this.#wire, "document/list", { journey_id: this.id });
    return documents as DocumentRow[];
  }

  /** One document, whole. */
  document(documentId: string): Promise<GetDocumentAnswer> {
    return ask(this.#wire, "document/get", { journey_id: this.id, document_id: documentId });
  }

  /** Remove a document; the answer is what it was. */
  deleteDocument(documentId: string): Promise<GetDocumentAnswer> {
    return ask(this.#wire, "document/delete", { journey_id: this.id, document_id: documentId });
  }

  /** Delete the journey with its documents; its sessions stay, in no journey. */
  delete(): Promise<DeleteJourneyAnswer> {
    return ask(this.#wire, "journey/delete", { journey_id: this.id });
  }
}
