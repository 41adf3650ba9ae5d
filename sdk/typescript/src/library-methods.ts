// generated, do not edit: `make sdk` writes this file from the table of operations

/** The library's methods, one for each operation. */

import type {
  ActivityPage,
  Continuation,
  DeletedObservation,
  EventNote,
  EventPage,
  ExportedDocument,
  FileEntry,
  FilePage,
  ForgetReceipt,
  HealthReport,
  Interval,
  LabelList,
  LibraryEvent,
  LibraryHit,
  LibraryObservation,
  LibrarySession,
  ObservationPage,
  OneObservation,
  QuestionAnswer,
  ReviewedObservation,
  RunningSessions,
  SearchPage,
  SessionDetails,
  SessionFiles,
  SessionLabels,
  SessionNote,
  SessionPage,
  SessionResume,
  UsagePage,
  UsageRow,
} from "./operations.js";
import { callLibrary, fetchDocument, type LibraryAnswer } from "./library-frame.js";
import { Pages } from "./pages.js";
import type { Transport } from "./transport.js";

/** One text, or several. */
export type Words = string | readonly string[];

/** Filters of sessions. Any value of one filter fits; different filters must all fit. A leading `-` leaves out. */
export interface LibraryFilters {
  /** Only sessions of this agent: claude-code, codex, … */
  agent?: Words;
  /** Only sessions of this project, by its name or folder. */
  project?: Words;
  /** Only sessions on this branch. */
  branch?: Words;
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: Words;
  /** Only sessions that called this tool. */
  tool?: Words;
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: Words;
  /** Only sessions with events of this type; in a search, only such events. */
  type?: Words;
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: Words;
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: Words;
  /** Only sessions with this label. */
  label?: Words;
  /** Only sessions of this machine. */
  machine?: Words;
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: Words;
  /** Only sessions that began before this time. */
  until?: Words;
}

export interface LibrarySessionsOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** How many, 1 to 200. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** One of updated, started, duration, tokens, events, cost; a leading `-` sorts descending. Default -updated. */
  sort?: "updated" | "started" | "duration" | "tokens" | "events" | "cost" | "-updated" | "-started" | "-duration" | "-tokens" | "-events" | "-cost";
  /** Also count sessions by some of agent, project, branch, mode, model, tool, type, state, label. */
  facets?: "agent" | "project" | "branch" | "mode" | "model" | "tool" | "type" | "state" | "label" | readonly ("agent" | "project" | "branch" | "mode" | "model" | "tool" | "type" | "state" | "label")[];
}

export interface LibraryContinueSessionOptions {
  /** What to do next. Default: go on where it stopped. */
  prompt?: string;
  /** A runner of the config, an agent installed on this machine (codex, gemini, …), command or acp. */
  runner?: string;
  /** The program and its arguments, for the runners command and acp. */
  command?: Words;
  /** native: fail if the agent cannot load the session itself. brief: always send a brief. auto: one if it must. Default auto. */
  way?: "auto" | "native" | "brief";
  /** Tokens of the brief at most, 300 to 50000. Default 4000. */
  budgetTokens?: number;
  /** Only say which way it would go, and show the brief. Nothing is started. */
  preview?: boolean;
}

export interface LibraryEventsOptions {
  /** The sequence number of the first event, from 0. Default 0. */
  from?: number;
  /** How many, 1 to 200. Default 50. */
  limit?: number;
  /** Only events of this type. */
  type?: Words;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
}

export interface LibraryExportOptions {
  /** html, markdown or jsonl. Default html. */
  format?: "html" | "markdown" | "jsonl";
  /** Do not shorten long texts in HTML and Markdown. */
  full?: boolean;
  /** A file or a folder. Without it, the answer's `content` has the document. */
  to?: string;
}

export interface LibraryExportSessionsOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** html, markdown or jsonl. Default html. */
  format?: "html" | "markdown" | "jsonl";
  /** Do not shorten long texts in HTML and Markdown. */
  full?: boolean;
  /** How many sessions, 1 to 10000. Default 50. */
  limit?: number;
  /** A file or a folder. Without it, the answer's `content` has the document. */
  to?: string;
}

/**
 * Options of `search`.
 * `mode`: How to find: text (fast, for search as you type), vector or both. Or only sessions of this kind.
 */
export interface LibrarySearchOptions extends LibraryFilters {
  /** How many, 1 to 200. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Add the parts of its score to each match. */
  why?: boolean;
  /** Matches per session, 1 to 50. Default 5. */
  matches?: number;
}

export interface LibraryUsageOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** How many rows, 1 to 10000. Default 1000. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** What to sum by. Default day. */
  by?: "day" | "week" | "project" | "agent" | "model" | "session";
}

export interface LibraryFilesOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** How many, 1 to 200. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Only this operation: read, changed, created, deleted. */
  operation?: Words;
}

export interface LibrarySessionFilesOptions {
  /** How many, 1 to 200. Default 200. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
}

export interface LibraryFileHistoryOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** How many, 1 to 200. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Only this operation: read, changed, created, deleted. */
  operation?: Words;
}

export interface LibraryActivityOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** How many, 1 to 200. Default 200. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
}

export interface LibraryNowOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Also sessions of the last 24 hours that ended or died. */
  all?: boolean;
}

/**
 * Options of `observations`.
 * `file`: Only observations about this file: `*.go`, `src/auth.ts`.
 * `type`: Only observations of this type: decision, bug-fix, …
 * `state`: Only observations in this state: active (default) or retired. Or the session's state.
 */
export interface LibraryObservationsOptions extends LibraryFilters {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** How many, 1 to 200. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Only observations tagged with this concept. */
  concept?: Words;
}

export interface LibraryConfirmObservationOptions {
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
}

export interface LibraryEditObservationOptions {
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
  /** Its title. */
  title?: string;
  /** Its type: decision, bug-fix, … */
  type?: string;
  /** Its subtitle. */
  subtitle?: string;
  /** What happened, in sentences. */
  narrative?: string;
  /** Its facts, one sentence each. */
  facts?: readonly string[];
}

export interface LibraryRetireObservationOptions {
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
}

export interface LibraryDeleteObservationOptions {
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
}

export interface LibraryAskOptions extends LibraryFilters {
}

export interface LibraryForgetOptions {
  /** All sessions of this project, by its name or folder. */
  project?: Words;
  /** All sessions that ended before this time: 2025-01-01, 90d, last year. */
  before?: string;
  /** Only say what would be forgotten. */
  dryRun?: boolean;
  /** The number of sessions that a dry run named; if it is another one now, nothing is forgotten. */
  confirm?: number;
}

/** The library's operations. */
export class LibraryMethods {
  /** @internal */
  protected readonly transport: Transport;

  /** @internal `Client` creates it. */
  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** A page of sessions, with facets on request. */
  sessions(options: LibrarySessionsOptions = {}): Pages<LibrarySession, SessionPage> {
    return new Pages(this.transport, "library/sessions", "sessions", options);
  }

  /** One session with its turns, files, observations, related sessions and resume command. */
  session(id: string): Promise<LibraryAnswer<SessionDetails>> {
    return callLibrary(this.transport, "library/session", { id });
  }

  /** The agent's own command to go on with a session, with its folder. */
  resume(id: string): Promise<LibraryAnswer<SessionResume>> {
    return callLibrary(this.transport, "library/resume", { id });
  }

  /** Go on with a session, imported or live, in any runner. The agent loads its own session if it can; any other agent gets a brief of the session: goal, state, decisions, open ends, files, last exchange. It may change files. */
  continueSession(id: string, options: LibraryContinueSessionOptions = {}): Promise<LibraryAnswer<Continuation>> {
    return callLibrary(this.transport, "library/continue", { id, ...options });
  }

  /** A window of a session's events, in full. */
  events(id: string, options: LibraryEventsOptions = {}): Pages<LibraryEvent, EventPage> {
    return new Pages(this.transport, "library/events", "events", { id, ...options });
  }

  /** A session as a document: one HTML file, Markdown, or JSON lines. Secrets are redacted. */
  export(id: string, options: LibraryExportOptions = {}): Promise<LibraryAnswer<ExportedDocument>> {
    return fetchDocument(this.transport, "library/export", { id, ...options });
  }

  /** The sessions that filters select or a search finds, as one document. Secrets are redacted. */
  exportSessions(options: LibraryExportSessionsOptions = {}): Promise<LibraryAnswer<ExportedDocument>> {
    return fetchDocument(this.transport, "library/export/sessions", options);
  }

  /** Search events. Hits are grouped by session, best first. */
  search(query: string, options: LibrarySearchOptions = {}): Pages<LibraryHit, SearchPage> {
    return new Pages(this.transport, "library/search", "hits", { query, ...options });
  }

  /** Tokens and cost, by day or another key. */
  usage(options: LibraryUsageOptions = {}): Pages<UsageRow, UsagePage> {
    return new Pages(this.transport, "library/usage", "rows", options);
  }

  /** Files that sessions read, changed, created and deleted, newest first. */
  files(options: LibraryFilesOptions = {}): Pages<FileEntry, FilePage> {
    return new Pages(this.transport, "library/files", "files", options);
  }

  /** The files of one session, in the order of its events. */
  sessionFiles(id: string, options: LibrarySessionFilesOptions = {}): Pages<FileEntry, SessionFiles> {
    return new Pages(this.transport, "library/session/files", "files", { id, ...options });
  }

  /** What sessions did to one file, newest first. */
  fileHistory(path: string, options: LibraryFileHistoryOptions = {}): Pages<FileEntry, FilePage> {
    return new Pages(this.transport, "library/files/history", "files", { path, ...options });
  }

  /** Sessions as intervals of a time range, oldest first. Default: the last 7 days. */
  activity(options: LibraryActivityOptions = {}): Pages<Interval, ActivityPage> {
    return new Pages(this.transport, "library/activity", "intervals", options);
  }

  /** The sessions that run: working, waiting for the person, or idle; with `all`, also those that ended or died today. */
  now(options: LibraryNowOptions = {}): Promise<LibraryAnswer<RunningSessions>> {
    return callLibrary(this.transport, "library/now", options);
  }

  /** Observations by filters, newest first; with words, best first. */
  observations(options: LibraryObservationsOptions = {}): Pages<LibraryObservation, ObservationPage> {
    return new Pages(this.transport, "library/observations", "observations", options);
  }

  /** One observation, also a retired one. */
  observation(id: string): Promise<LibraryAnswer<OneObservation>> {
    return callLibrary(this.transport, "library/observation", { id });
  }

  /** Confirm an observation. A retired one is found again. */
  confirmObservation(id: string, options: LibraryConfirmObservationOptions = {}): Promise<LibraryAnswer<ReviewedObservation>> {
    return callLibrary(this.transport, "library/observation/confirm", { id, ...options });
  }

  /** Change the words of an observation. What it said before is kept, with who changed it and when. */
  editObservation(id: string, options: LibraryEditObservationOptions = {}): Promise<LibraryAnswer<ReviewedObservation>> {
    return callLibrary(this.transport, "library/observation/edit", { id, ...options });
  }

  /** Retire an observation: it is no longer found, but kept, with who retired it and when. */
  retireObservation(id: string, options: LibraryRetireObservationOptions = {}): Promise<LibraryAnswer<ReviewedObservation>> {
    return callLibrary(this.transport, "library/observation/retire", { id, ...options });
  }

  /** Delete an observation for good. */
  deleteObservation(id: string, options: LibraryDeleteObservationOptions = {}): Promise<LibraryAnswer<DeletedObservation>> {
    return callLibrary(this.transport, "library/observation/delete", { id, ...options });
  }

  /** Answer a question from all sessions, with sources. */
  ask(question?: string, options: LibraryAskOptions = {}): Promise<LibraryAnswer<QuestionAnswer>> {
    return callLibrary(this.transport, "library/ask", { question, ...options });
  }

  /** What is indexed, which agents are read, and what could not be read. */
  health(): Promise<LibraryAnswer<HealthReport>> {
    return callLibrary(this.transport, "library/health", {});
  }

  /** All labels, with the number of sessions that have each. */
  labels(): Promise<LibraryAnswer<LabelList>> {
    return callLibrary(this.transport, "library/labels", {});
  }

  /** Label a session. */
  label(id: string, name: string): Promise<LibraryAnswer<SessionLabels>> {
    return callLibrary(this.transport, "library/label/put", { id, name });
  }

  /** Remove a label from a session. */
  unlabel(id: string, name: string): Promise<LibraryAnswer<SessionLabels>> {
    return callLibrary(this.transport, "library/label/remove", { id, name });
  }

  /** Write a note on a session. An empty text removes it. */
  note(id: string, note: string): Promise<LibraryAnswer<SessionNote>> {
    return callLibrary(this.transport, "library/note", { id, note });
  }

  /** Write a note on an event. An empty text removes it. */
  noteEvent(id: string, note: string): Promise<LibraryAnswer<EventNote>> {
    return callLibrary(this.transport, "library/event/note", { id, note });
  }

  /** Forget sessions for good: nothing of them is left in any file of the store, and no log brings them back. Sub-agents are forgotten with their parent. Agents' own logs stay as they are: the answer names those that exist. */
  forget(ids?: Words, options: LibraryForgetOptions = {}): Promise<LibraryAnswer<ForgetReceipt>> {
    return callLibrary(this.transport, "library/forget", { ids, ...options });
  }
}
