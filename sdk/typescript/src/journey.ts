/** A journey: one person's sessions and documents over time. */

import { call } from "./responses.js";
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
import type { Transport } from "./transport.js";

export type DocumentType = AddDocumentToJourneyRequest["document_type"];
// The contract makes these fields optional, but a Recollect server always sends them.
/** A document in a list of documents, without its content. */
export type DocumentRow = Required<ListDocumentsAnswer["documents"][number]>;
/** A session of a journey. `estimated_time` is set if its log has no timestamps. */
export type JourneySession = Required<QueryJourneyHistoryAnswer["sessions"][number]> & { estimated_time?: boolean };
/** The first of `total_results` matching sessions, and the documents if requested. */
export type JourneyHistory = Omit<QueryJourneyHistoryAnswer, "sessions" | "documents"> & {
  sessions: JourneySession[];
  documents?: DocumentRow[];
};
type Entry = JourneyTimelineAnswer["entries"][number];
type EntryHead = Required<Pick<Entry, "entry_id" | "created_at">>;
/** A session (with a summary) or a document (with a type and a title). */
export type TimelineEntry =
  | (EntryHead & { entry_type: "session" } & Required<Pick<Entry, "summary" | "has_diagnosis">> &
      Pick<Entry, "estimated_time">)
  | (EntryHead & { entry_type: "document" } & Required<Pick<Entry, "document_type" | "title">>);

export interface QueryOptions {
  /** Words of summaries: any of them matches, and a `"quoted part"` must occur. Default: the newest sessions. */
  query?: string;
  /** Earliest date, ISO 8601, inclusive. */
  fromDate?: string;
  /** Latest date, ISO 8601, inclusive. */
  toDate?: string;
  /** Number of sessions, at most 100. Default: 10. */
  limit?: number;
  includeDocuments?: boolean;
}

export interface NewDocument {
  documentType: DocumentType;
  title?: string;
  /** A text or a path. A path is stored but never opened. */
  content?: string;
  metadata?: JsonObject;
}

export interface LinkOptions {
  /** The summary that is shown and searched. Default: generated from the session. */
  summary?: string;
  /** The diagnosis, or whether there is one. Default: from the session's observations. */
  diagnosis?: string | boolean;
}

/** A journey of the realm. */
export class Journey {
  /** The journey's UUID. */
  readonly id: string;
  /** The journey's description when `Client` returned it. */
  readonly found: GetOrCreateJourneyAnswer;
  readonly #transport: Transport;

  /** @internal `Client` creates these. */
  constructor(transport: Transport, found: GetOrCreateJourneyAnswer) {
    this.#transport = transport;
    this.id = found.journey_id;
    this.found = found;
  }

  /** Search the sessions by words in their summaries and by date. Default: the newest. */
  async query(options: QueryOptions = {}): Promise<JourneyHistory> {
    const history = await call(this.#transport, "journey/query", {
      journey_id: this.id,
      query: options.query,
      from_date: options.fromDate,
      to_date: options.toDate,
      limit: options.limit,
      include_documents: options.includeDocuments,
    });
    return history as JourneyHistory;
  }

  /** Add a session to this journey. It leaves any other journey. */
  link(session: Session | string, { summary, diagnosis }: LinkOptions = {}): Promise<LinkSessionToJourneyAnswer> {
    const session_id = typeof session === "string" ? session : session.id;
    return call(this.#transport, "journey/link", { journey_id: this.id, session_id, summary, diagnosis });
  }

  /** The journey's sessions and documents, oldest first. */
  async timeline({ limit }: { limit?: number } = {}): Promise<TimelineEntry[]> {
    const { entries } = await call(this.#transport, "journey/timeline", { journey_id: this.id, limit });
    return entries as TimelineEntry[];
  }

  /** Add a document. */
  addDocument({ documentType, title, content, metadata }: NewDocument): Promise<AddDocumentToJourneyAnswer> {
    const params = { journey_id: this.id, document_type: documentType, title, content, metadata };
    return call(this.#transport, "document/add", params);
  }

  /** The journey's documents, newest first, without their content. */
  async documents(): Promise<DocumentRow[]> {
    const { documents } = await call(this.#transport, "document/list", { journey_id: this.id });
    return documents as DocumentRow[];
  }

  /** One document with its content. */
  document(documentId: string): Promise<GetDocumentAnswer> {
    return call(this.#transport, "document/get", { journey_id: this.id, document_id: documentId });
  }

  /** Delete a document and return it. */
  deleteDocument(documentId: string): Promise<GetDocumentAnswer> {
    return call(this.#transport, "document/delete", { journey_id: this.id, document_id: documentId });
  }

  /** Delete the journey and its documents. Its sessions stay, without a journey. */
  delete(): Promise<DeleteJourneyAnswer> {
    return call(this.#transport, "journey/delete", { journey_id: this.id });
  }
}
