// generated, do not edit: `make sdk` writes this file from the table of operations

/** A JSON object with any fields. */
export type JsonObject = { [name: string]: unknown };

/** Tokens by kind. `input` excludes what was read from or written to a cache; `reasoning` is part of `output`. */
export interface Tokens {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  reasoning: number;
  total: number;
}

/** What tokens cost. It is `estimated` if any part of it is, and `unknown` if no part has a price. */
export interface Cost {
  usd: number | null;
  source: "estimated" | "recorded" | "unknown";
  /** Tokens of models without a known price, which `usd` leaves out. */
  unpriced_tokens: number;
}

/** A session with everything that is known about it without reading its events. */
export interface LibrarySession {
  id: string;
  uuid: string;
  native_id: string;
  title: string;
  agent: string;
  project: string | null;
  folder: string | null;
  branch: string | null;
  models: string[];
  mode: string;
  started_at: string;
  updated_at: string;
  /** The log has no times, so these are the date of its file. */
  estimated_time: boolean;
  duration_s: number;
  /** The time during which turns ran. */
  active_s: number;
  turns: number;
  events: number;
  tool_calls: number;
  errors: number;
  tokens: Tokens;
  cost: Cost;
  state: string;
  parent: string | null;
  children: string[];
  files_changed: number;
  labels: string[];
  note: string | null;
  /** The beginning of the last answer. */
  outcome: string | null;
  path: string;
  machine: string;
}

/** A value of a property, and how many sessions have it. */
export interface FacetValue {
  value: string | null;
  count: number;
}

/** Sessions, and how many sessions have each value of the requested facets. */
export interface SessionPage {
  sessions: LibrarySession[];
  /** Default {}. */
  facets?: { [name: string]: FacetValue[] };
}

/** A turn of a session. `context_tokens` is what its last model call read. */
export interface LibraryTurn {
  id: string;
  number: number;
  prompt: string;
  started_at: string;
  updated_at: string;
  duration_s: number;
  events: number;
  tools: string[];
  stop: string | null;
  tokens: Tokens;
  context_tokens: number;
}

/** A file that a tool call read, changed, created or deleted. Lines are null if the log does not tell. */
export interface FileEntry {
  path: string;
  project: string | null;
  operation: string;
  lines_added: number | null;
  lines_removed: number | null;
  session: string;
  event: string;
  at: string;
}

/** Knowledge from a turn. */
export interface LibraryObservation {
  id: string;
  type: string;
  title: string;
  subtitle: string;
  narrative: string;
  facts: string[];
  concepts: string[];
  files_read: string[];
  files_modified: string[];
  made_by: string;
  at: string;
  estimated_time: boolean;
  project: string | null;
  session: string;
  turn: string;
  evidence: string[];
  /** The log of its turn, and the lines. */
  path: string;
  first_line: number;
  last_line: number;
  /** How well it answers the query, 0 to 1; null in a list without words. */
  score: number | null;
  /** What a person decided last: confirmed, edited or retired. */
  verdict: string | null;
  reviewer: string | null;
  reviewed_at: string | null;
}

/** A session that belongs to another one. `files`: how many files both changed. */
export interface RelatedSession {
  session: string;
  /** parent, sub-agent, continues, continued by, or same files. */
  relation: string;
  title: string;
  agent: string;
  updated_at: string;
  files: number;
}

/** One session in full. */
export interface SessionDetails {
  session: LibrarySession;
  turns: LibraryTurn[];
  files: FileEntry[];
  observations: LibraryObservation[];
  related: RelatedSession[];
  /** The agent's own command to go on with the session, for a shell. */
  resume: string | null;
}

/** How to go on with a session in its agent's own program. `command` is null if there is no such command. */
export interface SessionResume {
  /** The session that the command opens: for a sub-agent, the one that started it. */
  session: string;
  agent: string;
  native_id: string;
  command: string | null;
  /** The program and its arguments, without the change into the folder. */
  words: string[];
  folder: string | null;
  folder_exists: boolean;
  /** The path of the program; null if it is not installed. */
  program: string | null;
  /** Why there is no command. */
  reason: string | null;
  notes: string[];
}

/** What an agent gets that cannot load a session itself. */
export interface BriefView {
  text: string;
  tokens: number;
  budget_tokens: number;
}

/** How a session goes on. In a preview nothing is started, and `session` is null unless it is a live one already. */
export interface Continuation {
  /** The live session that goes on with the other one, or is that one itself. */
  session: string | null;
  uuid: string | null;
  continues: string;
  /** native: the agent has the session, or loads it itself; brief: it gets a brief. */
  way: string;
  runner: string;
  agent: string | null;
  folder: string;
  prompt: string;
  /** What the agent got; null if it got none. In a preview: what it gets, or would get if it cannot load the session. */
  brief: BriefView | null;
  started: boolean;
  text: string | null;
  usage: JsonObject | null;
  turns: number | null;
  tool_calls: number | null;
  stop_reason: string | null;
}

/** An event in full. A tool call has its arguments and, if it edits a file, the difference. */
export interface LibraryEvent {
  id: string;
  sequence: number;
  turn: number;
  type: string;
  at: string;
  text: string;
  tool: string | null;
  arguments: JsonObject | null;
  exit_code: number | null;
  failed: boolean;
  duration_ms: number | null;
  usage: Tokens | null;
  diff: string | null;
  /** Of a tool response: the sequence number of its call. */
  answers: number | null;
  note: string | null;
}

/** Events of one session, in their order. */
export interface EventPage {
  session: string;
  events: LibraryEvent[];
}

/** What a document has, and what was left out of it. */
export interface ExportReceipt {
  sessions: number;
  events: number;
  /** Secrets that were replaced before they were stored, by kind. */
  redacted_when_stored: { [name: string]: number };
  /** Secrets that were replaced in the document, by kind. */
  redacted_now: { [name: string]: number };
  texts_shortened: number;
  events_left_out: number;
}

/** A document that was written. Over REST the response is the document, and a header has the receipt. */
export interface ExportedDocument {
  format: string;
  media_type: string;
  file_name: string;
  receipt: ExportReceipt;
  /** The names of the files, if each session has its own. Default []. */
  files?: string[];
  /** The document, if the answer is JSON. Default null. */
  content?: string | null;
}

/** An event that a search found. `offsets` are pairs (start, end) of characters of `text` that match. */
export interface Match {
  event: string;
  turn: string;
  sequence: number;
  type: string;
  at: string;
  text: string;
  offsets: [number, number][];
  score: number;
  why: { [name: string]: number } | null;
}

/** A session with its matching events, best first. */
export interface LibraryHit {
  session: LibrarySession;
  matches: Match[];
}

/** Sessions with their matching events, best first. */
export interface SearchPage {
  hits: LibraryHit[];
}

/** Tokens and cost of one day, week, project, agent, model or session. A session's row includes its sub-agents. */
export interface UsageRow {
  /** The day (2026-03-01), the week (2026-W10), the name, or the session's id. Empty for sessions without a project. */
  key: string;
  /** Only of a session. Default null. */
  title?: string | null;
  sessions: number;
  turns: number;
  tokens: Tokens;
  cost: Cost;
}

/** Tokens and cost of each key, and of all sessions together. */
export interface UsagePage {
  by: string;
  rows: UsageRow[];
  total: UsageRow;
  /** The table in CSV, if it was asked for and the answer is JSON. Default null. */
  content?: string | null;
}

/** What tool calls did to files, newest first. */
export interface FilePage {
  files: FileEntry[];
}

/** What the tool calls of one session did to files, in their order. */
export interface SessionFiles {
  session: string;
  files: FileEntry[];
}

/** The time of a session in a range. */
export interface Interval {
  session: string;
  title: string;
  agent: string;
  project: string | null;
  start: string;
  end: string;
  estimated_time: boolean;
  turns: number;
  state: string;
}

/** Sessions as intervals, and the range of time that they are in. */
export interface ActivityPage {
  intervals: Interval[];
  since: string;
  until: string;
}

/** A session that runs now. `doing` is its newest event in one line. */
export interface RunningSession {
  id: string;
  uuid: string;
  native_id: string;
  title: string;
  agent: string;
  project: string | null;
  folder: string | null;
  branch: string | null;
  models: string[];
  mode: string;
  started_at: string;
  updated_at: string;
  /** The log has no times, so these are the date of its file. */
  estimated_time: boolean;
  duration_s: number;
  /** The time during which turns ran. */
  active_s: number;
  turns: number;
  events: number;
  tool_calls: number;
  errors: number;
  tokens: Tokens;
  cost: Cost;
  state: string;
  parent: string | null;
  children: string[];
  files_changed: number;
  labels: string[];
  note: string | null;
  /** The beginning of the last answer. */
  outcome: string | null;
  path: string;
  machine: string;
  doing: string;
}

/** Sessions that run now. */
export interface RunningSessions {
  sessions: RunningSession[];
}

/** Observations. */
export interface ObservationPage {
  observations: LibraryObservation[];
}

/** One observation. */
export interface OneObservation {
  observation: LibraryObservation;
}

/** An observation after a person's decision about it. */
export interface ReviewedObservation {
  observation: LibraryObservation;
}

/** The observation that was deleted. */
export interface DeletedObservation {
  id: string;
  deleted: boolean;
}

/** The source of a statement in an answer. */
export interface Citation {
  id: string;
  date: string;
  title: string;
  path: string;
  startLine: number;
  endLine: number;
  /** Default false. */
  estimated_time?: boolean;
}

/** The answer to a question, with its sources. */
export interface QuestionAnswer {
  question: string;
  /** In Markdown. */
  answer: string;
  sources: Citation[];
  /** The length of the answer. */
  tokens: number;
  /** `extract` if the answer only quotes; otherwise the model that wrote it. */
  by: string;
}

/** What `recollect status`, `recollect sources` and `recollect doctor` show. */
export interface HealthReport {
  status: JsonObject;
  sources: JsonObject[];
  doctor: JsonObject;
}

/** A label, and how many sessions have it. */
export interface LabelCount {
  name: string;
  sessions: number;
}

/** All labels. */
export interface LabelList {
  labels: LabelCount[];
}

/** The labels of a session. */
export interface SessionLabels {
  session: string;
  labels: string[];
}

/** The note on a session; null if there is none. */
export interface SessionNote {
  session: string;
  note: string | null;
}

/** The note on an event; null if there is none. */
export interface EventNote {
  event: string;
  session: string;
  note: string | null;
}

/** A session that is forgotten. A sub-agent is forgotten with its parent. */
export interface ForgottenSession {
  id: string;
  uuid: string;
  title: string;
  agent: string;
  project: string | null;
  updated_at: string;
  turns: number;
  events: number;
  is_sub_agent: boolean;
}

/** What forgotten sessions add up to. `sub_agents` are some of `sessions`; `recorded` are some of `observations`. */
export interface ForgetCounts {
  sessions: number;
  sub_agents: number;
  turns: number;
  events: number;
  observations: number;
  /** Observations that agents and people recorded: no rule makes them again. */
  recorded: number;
  labels: number;
  notes: number;
}

/** What was forgotten, or what would be with `dry_run`. `logs` still have the text: Recollect never writes to logs. */
export interface ForgetReceipt {
  dry_run: boolean;
  sessions: ForgottenSession[];
  counts: ForgetCounts;
  logs: string[];
  bytes_freed: number | null;
}

/** Search the history of previous sessions: find, look up, read and recall a previous session, a past conversation, old chats, chat history, conversation history, session history, transcripts and logs of every AI agent on this machine. A memory of what the user or an agent said: what we did, discussed or decided yesterday, last week or last time, how we solved a bug or error before, prior work. Use it first when earlier work could help. Write the words you expect in the text; identifiers, paths and error codes match whole and in parts, a "double-quoted part" literally. Hits are handles of about 150 tokens. Next: `open` a hit's event_id for the full text, its turn_id or session_id for more; or search again with within_id. By date: list_sessions. */
export interface SearchSessionsRequest {
  /** What to look for, 1 to 4096 characters. Example: ClickHouse schema migration failure. It may have filters: agent:codex project:api since:7d file:*.go. */
  query: string;
  /** A session or turn id from an earlier answer: search only inside it. Default: everywhere but in the session that asks. */
  within_id?: string | null;
  /** Which kinds of events to search. Default: user_input, assistant_response, tool_response. Add tool_call to find commands by their arguments, reasoning for the agent's thinking. */
  event_types?: ("user_input" | "assistant_response" | "reasoning" | "tool_call" | "tool_response" | "compaction" | "system" | "runtime")[] | null;
  /** How many hits, 1 to 50. Default 10. */
  n_hits?: number | null;
}

/** The response of `search_sessions`. */
export interface SearchSessionsAnswer {
  schema_version: "moraine.mcp.search_sessions.v1" | "moraine.mcp.error.v1";
  tool: string;
  request: JsonObject;
  data?: {
    result_count: number;
    limit: number;
    truncated: boolean;
    results: {
      rank: number;
      score: number;
      id: string;
      event: {
        id?: string;
        type?: "user_input" | "assistant_response" | "reasoning" | "tool_call" | "tool_response" | "compaction" | "system" | "runtime" | "unknown";
        timestamp?: string;
        estimated_time?: boolean;
        ordinal?: number;
        terminal?: boolean;
      };
      turn: {
        id?: string;
        ordinal?: number;
        completed?: boolean;
        event_count?: number;
      };
      session: {
        id?: string;
        title?: string;
        source?: string;
        started_at?: string;
        updated_at?: string;
        estimated_time?: boolean;
        completed?: boolean;
      };
      snippet: {
        text?: string;
        truncated?: boolean;
      };
      open: {
        event_id?: string;
        turn_id?: string;
        session_id?: string;
      };
    }[];
  };
  error?: {
    code: "invalid_request" | "invalid_id" | "unsupported_event_type" | "not_found" | "deadline_exceeded" | "internal_error";
    message: string;
    details: JsonObject;
  };
  warnings: string[];
  performance: {
    elapsed_ms: number;
    sla_target_ms: number;
    met_sla: boolean;
  };
}

/** Show more about an id that search_sessions, list_sessions or open returned. A session id gives a short summary per turn (about 150 tokens a turn); a turn id every event in one line (about 80 tokens an event); an event id its full text, however long. Go from small to large: the event, then its turn for the context, a whole session only when its course matters. `traversal` has the ids of neighbours and parents. */
export interface OpenRequest {
  /** An id exactly as returned: session:…, turn:… or event:…. */
  id: string;
}

/** The response of `open`. */
export interface OpenAnswer {
  schema_version: "moraine.mcp.open.v1" | "moraine.mcp.error.v1";
  tool: string;
  request: JsonObject;
  data?: {
    kind: "session" | "turn" | "event";
    session: JsonObject;
    traversal: JsonObject;
    turn?: JsonObject;
    event?: JsonObject;
    summary?: JsonObject;
    content?: JsonObject;
    turns?: JsonObject[];
    events?: JsonObject[];
  };
  error?: {
    code: "invalid_request" | "invalid_id" | "unsupported_event_type" | "not_found" | "deadline_exceeded" | "internal_error";
    message: string;
    details: JsonObject;
  };
  warnings: string[];
  performance: {
    elapsed_ms: number;
    sla_target_ms: number;
    met_sla: boolean;
  };
}

/** List the sessions of a time range, newest first: titles and metadata, about 120 tokens each, no transcript text. Use it for 'what did I work on yesterday'; by content use search_sessions. Next: `open` a listed session_id. */
export interface ListSessionsRequest {
  /** Inclusive start, ISO 8601 with an offset or Z. Example: 2026-04-30T09:00:00-04:00. */
  start_datetime: string;
  /** Exclusive end, ISO 8601 with an offset or Z. */
  end_datetime: string;
  /** How many sessions, 1 to 50. Default 20. */
  limit?: number | null;
  /** next_cursor of the previous page; window, mode and sort must be the same. */
  cursor?: string | null;
  /** Only sessions of this kind of work. Default: all. */
  mode?: "web_search" | "mcp_internal" | "tool_calling" | "chat" | null;
  /** desc: newest first (default); asc: oldest first. */
  sort?: "desc" | "asc" | null;
}

/** The response of `list_sessions`. */
export interface ListSessionsAnswer {
  schema_version: "moraine.mcp.list_sessions.v1" | "moraine.mcp.error.v1";
  tool: string;
  request: JsonObject;
  data?: {
    result_count: number;
    limit: number;
    truncated: boolean;
    sessions: {
      rank: number;
      id: string;
      session: {
        id?: string;
        title?: string;
        source?: string;
        started_at?: string;
        updated_at?: string;
        estimated_time?: boolean;
        completed?: boolean;
        turn_count?: number;
        event_count?: number;
        mode?: "web_search" | "mcp_internal" | "tool_calling" | "chat";
        session_slug?: string;
        session_summary?: string;
      };
      open: {
        session_id?: string;
      };
    }[];
    next_cursor: string | null;
  };
  error?: {
    code: "invalid_request" | "invalid_id" | "unsupported_event_type" | "not_found" | "deadline_exceeded" | "internal_error";
    message: string;
    details: JsonObject;
  };
  warnings: string[];
  performance: {
    elapsed_ms: number;
    sla_target_ms: number;
    met_sla: boolean;
  };
}

/** Trace layer 1: every event that contains an exact string (code, path, error text), newest session first. Unlike search_sessions it does not rank and finds parts of words. Next: get_event_details for a whole event, get_session_details for its session. */
export interface SearchEventPreviewsRequest {
  /** Substring to find, in any case; also inside words (serName). */
  query: string;
  /** Matches per page: integer, default 10, maximum 50 (more is clamped). About 0.5 KB each. Default 10. */
  limit?: number;
  /** next_cursor of the page before, same filters. Default: first page. */
  cursor?: string;
  /** Only this agent: claude-code, codex, … Default: all. */
  provider?: string;
  /** Only this type. Default: all. */
  event_type?: "user" | "message" | "reasoning" | "tool_call" | "tool_result" | "token_usage" | "notification";
  /** Only this session: UUID or unique prefix. Default: all. */
  session_id?: string;
}

/** The response of `search_event_previews`. */
export type SearchEventPreviewsAnswer = JsonObject;

/** Trace layer 2: the whole, uncut payload of one event that search_event_previews found. 1 to 5 KB, large tool outputs more. */
export interface GetEventDetailsRequest {
  /** Session UUID or a prefix of it, from 1 character; must be unique. */
  session_id: string;
  /** Place of the event in its session, from 0. */
  event_index: number;
}

/** The response of `get_event_details`. */
export type GetEventDetailsAnswer = JsonObject;

/** Trace layer 3: the course of one session as turns and steps. Begin with summary, go deeper only where needed. analyze_session tells what went wrong in it; search_event_previews with session_id finds places in it. */
export interface GetSessionDetailsRequest {
  /** Session UUID or a prefix of it, from 1 character; must be unique. */
  session_id: string;
  /** summary 5-10 KB: prompts and counts; turns 15-30 KB: a line per step, outcome; steps 50-100 KB: everything, reasoning and output cut to 500 characters; full: unbounded. Default summary. Default "summary". */
  detail_level?: "summary" | "turns" | "steps" | "full";
  /** Add the agent's thinking to steps. Only with detail_level=turns, else ignored. Default false; adds up to 10 KB per turn. Default false. */
  include_reasoning?: boolean;
}

/** The response of `get_session_details`. */
export type GetSessionDetailsAnswer = JsonObject;

/** Trace: failed tools, loops (the same tools three turns running), bottlenecks (a tool over 10 s) of one session, and a score from 0 to 100. 1 to 5 KB. Next: get_session_details, or get_event_details with an event index. */
export interface AnalyzeSessionRequest {
  /** Session UUID or a prefix of it, from 1 character; must be unique. */
  session_id: string;
}

/** The response of `analyze_session`. */
export type AnalyzeSessionAnswer = JsonObject;

/** Deprecated, to be removed on 2027-06-30: use search_event_previews for breadth, then get_event_details for depth; this tool mixes both. */
export interface SearchEventsRequest {
  /** Substring to find, in any case; also inside words (serName). */
  query?: string;
  /** Matches per page: integer, default 5, maximum 20 (more is clamped). 1 KB each as preview, 5-10 KB as full. Default 5. */
  limit?: number;
  /** next_cursor of the page before, same filters. Default: first page. */
  cursor?: string;
  /** Only this agent: claude-code, codex, … Default: all. */
  provider?: string;
  /** Only this type. Default: all. */
  event_type?: "user" | "message" | "reasoning" | "tool_call" | "tool_result" | "token_usage" | "notification";
  /** Only this session: UUID or unique prefix. Default: all. */
  session_id?: string;
  /** preview: 300 characters; compact: key fields, 2 KB; full: whole payload. Default preview. Default "preview". */
  detail_level?: "preview" | "compact" | "full";
}

/** The response of `search_events`. */
export type SearchEventsAnswer = JsonObject;

/** Search memory (layer 1 of 3): recall, remember and find what was learnt in previous sessions, a past conversation or session, earlier chats, chat history, session history, transcripts: short observations of what we did, discussed or decided and why, yesterday, last week or last time, how we solved a bug or error before, prior work. About 60 tokens each plus facts. Next: get_observations with the ids (most questions end there), or read with the path and lines. 2 to 5 concepts find conversations that hold all of them. Exact words in the history of agents: search_sessions. */
export interface SearchRequest {
  /** One question or concept; or 2 to 5 concepts that a conversation must all hold. */
  query: string | string[];
  /** By meaning, by exact words (ids, error codes), or both (default). */
  mode?: "vector" | "text" | "both" | null;
  /** 1 to 50. Default 10. */
  limit?: number | null;
  /** From this day on, YYYY-MM-DD. */
  after?: string | null;
  /** Before this day, YYYY-MM-DD. */
  before?: string | null;
  /** Only these projects, by name. */
  projects?: string[] | null;
  /** Only these types, such as decision, bug-fix, pattern, feature, refactor, discovery, diagnosis, test, config. */
  types?: string[] | null;
  /** Only observations tagged with one of these concepts. */
  concepts?: string[] | null;
  /** Only observations about one of these files: a name (auth.ts) or the tail of a path. */
  files?: string[] | null;
  /** Default markdown. */
  response_format?: "markdown" | "json" | null;
}

/** The response of `search`. */
export type SearchAnswer = JsonObject;

/** Layer 2 of the memory: the whole of 1 to 20 observations that `search` found, in the order asked for: what happened and why, facts, concepts, files, evidence. About 200 to 500 tokens each. Next, only if needed: `read` the path and lines it names, or `open` its evidence. */
export interface GetObservationsRequest {
  /** Ids as returned by search: obs-…. */
  ids: string[];
}

/** The response of `get_observations`. */
export type GetObservationsAnswer = JsonObject;

/** Layer 3 of the memory: the transcript of one conversation as Markdown, tools summed up in a line. 500 to 2,000 tokens and more: use it only when layers 1 and 2 do not answer, with the lines that search named. Works too when the agent has deleted the file since. */
export interface ReadRequest {
  /** A path exactly as search returned it. */
  path: string;
  /** First line, from 1. Default 1. */
  startLine?: number | null;
  /** Last line, inclusive. Default: to the end. */
  endLine?: number | null;
}

/** The response of `read`. */
export type ReadAnswer = JsonObject;

/** Save an observation of your own in the memory: a decision and its reason, the cause and fix of a bug, a pattern worth keeping. It must point at its evidence: ids of events or turns as search_sessions and open return them, all of one session. Write a short true title and self-contained facts. */
export interface RecordObservationRequest {
  /** decision, bug-fix, pattern, feature, refactor, discovery, … or a word of yours. */
  type: string;
  /** What was learnt, in at most 120 characters. */
  title: string;
  /** One sentence more. */
  subtitle?: string | null;
  /** What happened and why, at most 4,000 characters. */
  narrative?: string | null;
  /** Self-contained facts, one sentence each. */
  facts?: string[] | null;
  /** Tags: technologies, identifiers, topics. */
  concepts?: string[] | null;
  /** Files that were read. */
  files_read?: string[] | null;
  /** Files that were changed. */
  files_modified?: string[] | null;
  /** event:… or turn:… ids that show it. */
  evidence_ids: string[];
}

/** The response of `record_observation`. */
export type RecordObservationAnswer = JsonObject;

/** Get existing journey for user or create new one: one person's work and documents in their order. query_journey_history and the other journey tools take its id. */
export interface GetOrCreateJourneyRequest {
  /** User identifier. NULL/omitted for anonymous journey. */
  user_id?: string;
}

/** The response of `get_or_create_journey`. */
export interface GetOrCreateJourneyAnswer {
  journey_id: string;
  created_at: string;
  session_count: number;
  /** True if journey was just created. */
  is_new: boolean;
  user_id?: string | null;
}

/** What is linked to a journey, by keyword and range of dates; without a query, newest on top. Nothing outside of the journey. `open` shows one: session:<session_id without dashes>. */
export interface QueryJourneyHistoryRequest {
  /** Journey to search within. */
  journey_id: string;
  /** Keyword search on session summaries. */
  query?: string;
  /** Start of time range filter. */
  from_date?: string;
  /** End of time range filter. */
  to_date?: string;
  /** Default 10. */
  limit?: number;
  /** Include linked documents in results. Default false. */
  include_documents?: boolean;
}

/** The response of `query_journey_history`. */
export interface QueryJourneyHistoryAnswer {
  journey_id: string;
  sessions: {
    session_id?: string;
    created_at?: string;
    summary?: string;
    has_diagnosis?: boolean;
    relevance_score?: number;
  }[];
  total_results: number;
  documents?: {
    document_id?: string;
    document_type?: string;
    title?: string;
    created_at?: string;
  }[];
}

/** Link a note, document or artifact to a journey; its query lists it with include_documents. A path is kept as text, it is never opened. */
export interface AddDocumentToJourneyRequest {
  /** Journey to link document to. */
  journey_id: string;
  /** Type of document. */
  document_type: "woop_plan" | "file_upload" | "artifact" | "note";
  /** Document title. */
  title?: string;
  /** Document content or file path. */
  content?: string;
  /** Additional metadata. */
  metadata?: JsonObject;
}

/** The response of `add_document_to_journey`. */
export interface AddDocumentToJourneyAnswer {
  document_id: string;
  journey_id: string;
  document_type: string;
  created_at: string;
}

/** Link a session to a journey, whose queries cover it then; it leaves any other journey. The session_id is the hex of a session:… of `open` or search_sessions as a UUID. */
export interface LinkSessionToJourneyRequest {
  journey_id: string;
  session_id: string;
  /** What to show and find it by. Default: made from the session. */
  summary?: string;
  /** What was diagnosed, or whether. Default: as observed. */
  diagnosis?: string | boolean;
}

/** The response of `link_session_to_journey`. */
export interface LinkSessionToJourneyAnswer {
  journey_id: string;
  session_id: string;
}

/** Sessions and documents of a journey, oldest first. */
export interface JourneyTimelineRequest {
  journey_id: string;
  /** Default 50. */
  limit?: number;
}

/** The response of `journey_timeline`. */
export interface JourneyTimelineAnswer {
  journey_id: string;
  entries: {
    entry_type?: "session" | "document";
    entry_id?: string;
    created_at?: string;
    estimated_time?: boolean;
    summary?: string;
    has_diagnosis?: boolean;
    document_type?: string;
    title?: string;
  }[];
}

/** Documents of a journey, newest first. */
export interface ListDocumentsRequest {
  journey_id: string;
}

/** The response of `list_documents`. */
export interface ListDocumentsAnswer {
  documents: {
    document_id?: string;
    document_type?: string;
    title?: string;
    created_at?: string;
  }[];
}

/** A document of a journey, whole. */
export interface GetDocumentRequest {
  journey_id: string;
  document_id: string;
}

/** The response of `get_document`. */
export interface GetDocumentAnswer {
  document_id: string;
  journey_id: string;
  document_type: string;
  title: string;
  content: string | null;
  metadata: JsonObject | null;
  created_at: string;
}

/** Remove a document from its journey; the answer is what it was. */
export interface DeleteDocumentRequest {
  journey_id: string;
  document_id: string;
}

/** The response of `delete_document`. */
export interface DeleteDocumentAnswer {
  document_id: string;
  journey_id: string;
  document_type: string;
  title: string;
  content: string | null;
  metadata: JsonObject | null;
  created_at: string;
}

/** Remove a journey and its documents; its sessions stay, in no journey. */
export interface DeleteJourneyRequest {
  journey_id: string;
}

/** The response of `delete_journey`. */
export interface DeleteJourneyAnswer {
  journey_id: string;
  session_count: number;
  document_count: number;
}

/** Create a live session and run its agent for a first turn (unless deferred): the built-in one, or a program on this machine that may change files and use the network. */
export interface MeerkatCreateSessionRequest {
  prompt?: string;
  initial_turn?: "immediate" | "deferred";
  labels?: { [name: string]: string };
  /** recall (default), command, acp, or one of the config. */
  runner?: string;
  /** Not over MCP. */
  command?: string[];
  user_id?: string;
  journey_id?: string;
}

/** The response of `meerkat_create_session`. */
export type MeerkatCreateSessionAnswer = {
  session_id: string;
  text: string;
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    reasoning_tokens: number;
    total_tokens: number;
    /** From the length of the text, if the agent reports no tokens. */
    estimated?: boolean;
  };
  turns: number;
  tool_calls: number;
  stop_reason: string;
} | {
  session_id: string;
};

/** Run one more turn of a live session with a prompt. Its agent may be a program on this machine that can change files and use the network. SESSION_BUSY while another turn runs: meerkat_interrupt ends it. */
export interface MeerkatStartTurnRequest {
  session_id: string;
  prompt: string;
  runner?: string;
  command?: string[];
}

/** The response of `meerkat_start_turn`. */
export interface MeerkatStartTurnAnswer {
  session_id: string;
  text: string;
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    reasoning_tokens: number;
    total_tokens: number;
    /** From the length of the text, if the agent reports no tokens. */
    estimated?: boolean;
  };
  turns: number;
  tool_calls: number;
  stop_reason: string;
}

/** Cancel the running turn of a live session, whichever process runs it, and wait for its end; interrupted is false when none runs. */
export interface MeerkatInterruptRequest {
  session_id: string;
}

/** The response of `meerkat_interrupt`. */
export interface MeerkatInterruptAnswer {
  session_id: string;
  interrupted: boolean;
}

/** State, labels and token usage of one live or imported session; is_active while a turn runs, which it never waits for; also its runner. */
export interface MeerkatReadRequest {
  session_id: string;
}

/** The response of `meerkat_read`. */
export interface MeerkatReadAnswer {
  session_id: string;
  realm_id: string;
  instance_id: string;
  backend: "sqlite" | "jsonl" | "memory";
  config_generation: number;
  created_at: string;
  updated_at: string;
  message_count: number;
  is_active: boolean;
  labels: { [name: string]: string };
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    reasoning_tokens: number;
    total_tokens: number;
    /** From the length of the text, if the agent reports no tokens. */
    estimated?: boolean;
  };
  turns: number;
  runner: string;
  imported?: boolean;
  title?: string;
  /** The log has no times: the file's times are shown. */
  estimated_time?: boolean;
}

/** Committed messages of a live session, oldest first, by offset and limit; nothing of a turn that still runs. Archived and imported ones as well. */
export interface MeerkatHistoryRequest {
  session_id: string;
  /** Default 0. */
  offset?: number;
  /** Default 100. */
  limit?: number;
}

/** The response of `meerkat_history`. */
export interface MeerkatHistoryAnswer {
  session_id: string;
  message_count: number;
  offset: number;
  limit: number;
  has_more: boolean;
  messages: {
    role: "user" | "assistant" | "tool_results" | "system_notice";
    content: string;
    created_at: string;
    estimated_time?: boolean;
    blocks?: JsonObject[];
    results?: JsonObject[];
    kind?: string;
    /** Context that was inserted, not typed. */
    injected?: boolean;
    compaction_summary?: boolean;
    stop_reason?: string;
    usage?: {
      input_tokens: number;
      output_tokens: number;
      cache_read_tokens: number;
      cache_write_tokens: number;
      reasoning_tokens: number;
      total_tokens: number;
      /** From the length of the text, if the agent reports no tokens. */
      estimated?: boolean;
    };
  }[];
}

/** Live sessions of the realm, the latest used on top, archived ones hidden; labels must all match; with imported, those of agents too. */
export interface MeerkatListRequest {
  labels?: { [name: string]: string };
  /** Also sessions read from agents' logs. Default false. */
  imported?: boolean;
  /** Default 0. */
  offset?: number;
  /** Default 100. */
  limit?: number;
}

/** The response of `meerkat_list`. */
export interface MeerkatListAnswer {
  sessions: {
    session_id: string;
    realm_id: string;
    instance_id: string;
    backend: "sqlite" | "jsonl" | "memory";
    config_generation: number;
    created_at: string;
    updated_at: string;
    message_count: number;
    is_active: boolean;
    labels: { [name: string]: string };
    usage: {
      input_tokens: number;
      output_tokens: number;
      cache_read_tokens: number;
      cache_write_tokens: number;
      reasoning_tokens: number;
      total_tokens: number;
      /** From the length of the text, if the agent reports no tokens. */
      estimated?: boolean;
    };
    turns: number;
    runner: string;
    imported?: boolean;
    title?: string;
    /** The log has no times: the file's times are shown. */
    estimated_time?: boolean;
  }[];
}

/** End a live session for good: meerkat_list hides it, and it has no more turns. Its messages stay readable, and `open` shows them still. */
export interface MeerkatArchiveRequest {
  session_id: string;
}

/** The response of `meerkat_archive`. */
export interface MeerkatArchiveAnswer {
  session_id: string;
  archived: boolean;
}

/** The id of the session that `last`, or the beginning of an id, means. */
export interface SessionLocateRequest {
  session_id: string;
}

/** The response of `session_locate`. */
export interface SessionLocateAnswer {
  session_id: string;
}

/** Read (get), replace (set) or change (patch, RFC 7396) the realm's config. Every write raises its generation by 1; a stale expected_generation writes nothing. No runners over MCP. */
export interface MeerkatConfigRequest {
  action: "get" | "set" | "patch";
  config?: JsonObject;
  patch?: JsonObject;
  expected_generation?: number;
}

/** The response of `meerkat_config`. */
export interface MeerkatConfigAnswer {
  config: JsonObject;
  generation: number;
  realm_id: string;
  instance_id: string;
  backend: string;
}

/** Every realm here. */
export type RealmListRequest = Record<string, never>;

/** The response of `realm_list`. */
export interface RealmListAnswer {
  realms: {
    realm_id: string;
    backend: string;
    origin: string | null;
    created_at: string | null;
  }[];
  failed?: {
    realm_id: string;
    message: string;
  }[];
}

/** What a realm is and holds. */
export interface RealmGetRequest {
  realm_id: string;
}

/** The response of `realm_get`. */
export interface RealmGetAnswer {
  realm_id: string;
  backend: string;
  origin: string | null;
  created_at: string | null;
  folder?: string;
  bytes?: number;
  config_generation?: number;
  instances?: {
    instance_id: string;
    surface: string;
    pid: number;
    since: string;
  }[];
}

/** Remove a realm with all in it. */
export interface RealmDeleteRequest {
  realm_id: string;
}

/** The response of `realm_delete`. */
export interface RealmDeleteAnswer {
  realm_id: string;
  backend: string;
  origin: string | null;
  created_at: string | null;
  folder?: string;
  bytes?: number;
  config_generation?: number;
  instances?: {
    instance_id: string;
    surface: string;
    pid: number;
    since: string;
  }[];
}

/** Remove generated realms nobody is at work in. */
export type RealmPruneRequest = Record<string, never>;

/** The response of `realm_prune`. */
export interface RealmPruneAnswer {
  realms: {
    realm_id: string;
    backend: string;
    origin: string | null;
    created_at: string | null;
    folder?: string;
    bytes?: number;
    config_generation?: number;
    instances?: {
      instance_id: string;
      surface: string;
      pid: number;
      since: string;
    }[];
  }[];
  failed: {
    realm_id: string;
    message: string;
  }[];
}

/** A page of sessions, with facets on request. */
export interface LibrarySessionsRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many, 1 to 200. Default 50. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** One of updated, started, duration, tokens, events, cost; a leading `-` sorts descending. Default -updated. Default "-updated". */
  sort?: "updated" | "started" | "duration" | "tokens" | "events" | "cost" | "-updated" | "-started" | "-duration" | "-tokens" | "-events" | "-cost";
  /** Also count sessions by some of agent, project, branch, mode, model, tool, type, state, label. */
  facets?: ("agent" | "project" | "branch" | "mode" | "model" | "tool" | "type" | "state" | "label")[];
}

/** The response of `library_sessions`. */
export interface LibrarySessionsAnswer {
  data: SessionPage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** One session with its turns, files, observations, related sessions and resume command. */
export interface LibrarySessionRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
}

/** The response of `library_session`. */
export interface LibrarySessionAnswer {
  data: SessionDetails;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** The agent's own command to go on with a session, with its folder. */
export interface LibraryResumeRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
}

/** The response of `library_resume`. */
export interface LibraryResumeAnswer {
  data: SessionResume;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Go on with a session, imported or live, in any runner. The agent loads its own session if it can; any other agent gets a brief of the session: goal, state, decisions, open ends, files, last exchange. It may change files. */
export interface LibraryContinueRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** What to do next. Default: go on where it stopped. */
  prompt?: string;
  /** A runner of the config, an agent installed on this machine (codex, gemini, …), command or acp. */
  runner?: string;
  /** The program and its arguments, for the runners command and acp. */
  command?: string[];
  /** native: fail if the agent cannot load the session itself. brief: always send a brief. auto: one if it must. Default auto. Default "auto". */
  way?: "auto" | "native" | "brief";
  /** Tokens of the brief at most, 300 to 50000. Default 4000. Default 4000. */
  budget_tokens?: number;
  /** Only say which way it would go, and show the brief. Nothing is started. Default false. */
  preview?: boolean;
}

/** The response of `library_continue`. */
export interface LibraryContinueAnswer {
  data: Continuation;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** A window of a session's events, in full. */
export interface LibraryEventsRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** The sequence number of the first event, from 0. Default 0. Default 0. */
  from?: number;
  /** How many, 1 to 200. Default 50. Default 50. */
  limit?: number;
  /** Only events of this type. */
  type?: string[];
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
}

/** The response of `library_events`. */
export interface LibraryEventsAnswer {
  data: EventPage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** A session as a document: one HTML file, Markdown, or JSON lines. Secrets are redacted. */
export interface LibraryExportSessionRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** html, markdown or jsonl. Default html. Default "html". */
  format?: "html" | "markdown" | "jsonl";
  /** Do not shorten long texts in HTML and Markdown. Default false. */
  full?: boolean;
}

/** The response of `library_export_session`. */
export interface LibraryExportSessionAnswer {
  data: ExportedDocument;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** The sessions that filters select or a search finds, as one document. Secrets are redacted. */
export interface LibraryExportSessionsRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** html, markdown or jsonl. Default html. Default "html". */
  format?: "html" | "markdown" | "jsonl";
  /** Do not shorten long texts in HTML and Markdown. Default false. */
  full?: boolean;
  /** How many sessions, 1 to 10000. Default 50. Default 50. */
  limit?: number;
}

/** The response of `library_export_sessions`. */
export interface LibraryExportSessionsAnswer {
  data: ExportedDocument;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Search events. Hits are grouped by session, best first. */
export interface LibrarySearchRequest {
  /** Words and filters. */
  query: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** How to find: text (fast, for search as you type), vector or both. Or only sessions of this kind. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many, 1 to 200. Default 50. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Add the parts of its score to each match. Default false. */
  why?: boolean;
  /** Matches per session, 1 to 50. Default 5. Default 5. */
  matches?: number;
}

/** The response of `library_search`. */
export interface LibrarySearchAnswer {
  data: SearchPage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Tokens and cost, by day or another key. */
export interface LibraryUsageRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many rows, 1 to 10000. Default 1000. Default 1000. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** What to sum by. Default day. Default "day". */
  by?: "day" | "week" | "project" | "agent" | "model" | "session";
  /** csv: a table in plain text. Default json. Default "json". */
  format?: "json" | "csv";
}

/** The response of `library_usage`. */
export interface LibraryUsageAnswer {
  data: UsagePage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Files that sessions read, changed, created and deleted, newest first. */
export interface LibraryFilesRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many, 1 to 200. Default 50. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Only this operation: read, changed, created, deleted. */
  operation?: string[];
}

/** The response of `library_files`. */
export interface LibraryFilesAnswer {
  data: FilePage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** The files of one session, in the order of its events. */
export interface LibrarySessionFilesRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** How many, 1 to 200. Default 200. Default 200. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
}

/** The response of `library_session_files`. */
export interface LibrarySessionFilesAnswer {
  data: SessionFiles;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** What sessions did to one file, newest first. */
export interface LibraryFileHistoryRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many, 1 to 200. Default 50. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Only this operation: read, changed, created, deleted. */
  operation?: string[];
  /** The file's path, or the end of it. */
  path: string;
}

/** The response of `library_file_history`. */
export interface LibraryFileHistoryAnswer {
  data: FilePage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Sessions as intervals of a time range, oldest first. Default: the last 7 days. */
export interface LibraryActivityRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many, 1 to 200. Default 200. Default 200. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
}

/** The response of `library_activity`. */
export interface LibraryActivityAnswer {
  data: ActivityPage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** The sessions that run: working, waiting for the person, or idle; with `all`, also those that ended or died today. */
export interface LibraryNowRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** Also sessions of the last 24 hours that ended or died. Default false. */
  all?: boolean;
}

/** The response of `library_now`. */
export interface LibraryNowAnswer {
  data: RunningSessions;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Observations by filters, newest first; with words, best first. */
export interface LibraryObservationsRequest {
  /** Words and filters, as in `agent:codex since:7d "exact phrase" retry`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only observations about this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only observations of this type: decision, bug-fix, …. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only observations in this state: active (default) or retired. Or the session's state. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** How many, 1 to 200. Default 50. Default 50. */
  limit?: number;
  /** `page.next` of the page before, with the same filters. */
  cursor?: string;
  /** Only observations tagged with this concept. */
  concept?: string[];
}

/** The response of `library_observations`. */
export interface LibraryObservationsAnswer {
  data: ObservationPage;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** One observation, also a retired one. */
export interface LibraryObservationRequest {
  /** An observation: `obs-…`. */
  id: string;
}

/** The response of `library_observation`. */
export interface LibraryObservationAnswer {
  data: OneObservation;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Confirm an observation. A retired one is found again. */
export interface LibraryConfirmObservationRequest {
  /** An observation: `obs-…`. */
  id: string;
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
}

/** The response of `library_confirm_observation`. */
export interface LibraryConfirmObservationAnswer {
  data: ReviewedObservation;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Change the words of an observation. What it said before is kept, with who changed it and when. */
export interface LibraryEditObservationRequest {
  /** An observation: `obs-…`. */
  id: string;
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
  /** Its title. */
  title?: string;
  /** Its type: decision, bug-fix, …. */
  type?: string;
  /** Its subtitle. */
  subtitle?: string;
  /** What happened, in sentences. */
  narrative?: string;
  /** Its facts, one sentence each. */
  facts?: string[];
}

/** The response of `library_edit_observation`. */
export interface LibraryEditObservationAnswer {
  data: ReviewedObservation;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Retire an observation: it is no longer found, but kept, with who retired it and when. */
export interface LibraryRetireObservationRequest {
  /** An observation: `obs-…`. */
  id: string;
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
}

/** The response of `library_retire_observation`. */
export interface LibraryRetireObservationAnswer {
  data: ReviewedObservation;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Delete an observation for good. */
export interface LibraryDeleteObservationRequest {
  /** An observation: `obs-…`. */
  id: string;
  /** Who decides. Default: the user that the program runs as. */
  reviewer?: string;
}

/** The response of `library_delete_observation`. */
export interface LibraryDeleteObservationAnswer {
  data: DeletedObservation;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Answer a question from all sessions, with sources. */
export interface LibraryAskRequest {
  /** The question, also with filters: `agent:codex why did we retry?`. */
  query?: string;
  /** Only sessions of this agent: claude-code, codex, …. */
  agent?: string[];
  /** Only sessions of this project, by its name or folder. */
  project?: string[];
  /** Only sessions on this branch. */
  branch?: string[];
  /** Only sessions with this model; `*` stands for any characters: `opus*`. */
  model?: string[];
  /** Only sessions that called this tool. */
  tool?: string[];
  /** Only sessions that read or changed this file: `*.go`, `src/auth.ts`. */
  file?: string[];
  /** Only sessions with events of this type; in a search, only such events. */
  type?: string[];
  /** Only sessions of this kind: chat, tool_calling, web_search, mcp_internal. */
  mode?: string[];
  /** Only sessions in this state: working, waiting, idle, ended, died. */
  state?: string[];
  /** Only sessions with this label. */
  label?: string[];
  /** Only sessions of this machine. */
  machine?: string[];
  /** Only sessions with a failed tool call; false: only those without. */
  failed?: boolean;
  /** Only sessions active since: 7d, yesterday, 2026-03-01, last week of March. */
  since?: string[];
  /** Only sessions that began before this time. */
  until?: string[];
  /** The question; `query` if this is missing. */
  question?: string;
}

/** The response of `library_ask`. */
export interface LibraryAskAnswer {
  data: QuestionAnswer;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** What is indexed, which agents are read, and what could not be read. */
export type LibraryHealthRequest = Record<string, never>;

/** The response of `library_health`. */
export interface LibraryHealthAnswer {
  data: HealthReport;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** All labels, with the number of sessions that have each. */
export type LibraryLabelsRequest = Record<string, never>;

/** The response of `library_labels`. */
export interface LibraryLabelsAnswer {
  data: LabelList;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Label a session. */
export interface LibraryPutLabelRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** A label, at most 64 characters. */
  name: string;
}

/** The response of `library_put_label`. */
export interface LibraryPutLabelAnswer {
  data: SessionLabels;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Remove a label from a session. */
export interface LibraryRemoveLabelRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** A label, at most 64 characters. */
  name: string;
}

/** The response of `library_remove_label`. */
export interface LibraryRemoveLabelAnswer {
  data: SessionLabels;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Write a note on a session. An empty text removes it. */
export interface LibraryWriteNoteRequest {
  /** A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or `last`. */
  id: string;
  /** The note, at most 10000 characters. */
  note: string;
}

/** The response of `library_write_note`. */
export interface LibraryWriteNoteAnswer {
  data: SessionNote;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Write a note on an event. An empty text removes it. */
export interface LibraryWriteEventNoteRequest {
  /** An event: `event:…`. */
  id: string;
  /** The note, at most 10000 characters. */
  note: string;
}

/** The response of `library_write_event_note`. */
export interface LibraryWriteEventNoteAnswer {
  data: EventNote;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** Forget sessions for good: nothing of them is left in any file of the store, and no log brings them back. Sub-agents are forgotten with their parent. Agents' own logs stay as they are: the answer names those that exist. */
export interface LibraryForgetRequest {
  /** Sessions, each by any form of its id. */
  ids?: string[];
  /** All sessions of this project, by its name or folder. */
  project?: string[];
  /** All sessions that ended before this time: 2025-01-01, 90d, last year. */
  before?: string;
  /** Only say what would be forgotten. Default false. */
  dry_run?: boolean;
  /** The number of sessions that a dry run named; if it is another one now, nothing is forgotten. */
  confirm?: number;
}

/** The response of `library_forget`. */
export interface LibraryForgetAnswer {
  data: ForgetReceipt;
  warnings: string[];
  page?: {
    next: string | null;
    total: number | null;
  };
}

/** JSON-RPC methods: parameters and response of each. */
export interface Methods {
  "journey/get_or_create": [GetOrCreateJourneyRequest, GetOrCreateJourneyAnswer];
  "journey/query": [QueryJourneyHistoryRequest, QueryJourneyHistoryAnswer];
  "document/add": [AddDocumentToJourneyRequest, AddDocumentToJourneyAnswer];
  "journey/link": [LinkSessionToJourneyRequest, LinkSessionToJourneyAnswer];
  "journey/timeline": [JourneyTimelineRequest, JourneyTimelineAnswer];
  "document/list": [ListDocumentsRequest, ListDocumentsAnswer];
  "document/get": [GetDocumentRequest, GetDocumentAnswer];
  "document/delete": [DeleteDocumentRequest, DeleteDocumentAnswer];
  "journey/delete": [DeleteJourneyRequest, DeleteJourneyAnswer];
  "session/create": [MeerkatCreateSessionRequest, MeerkatCreateSessionAnswer];
  "turn/start": [MeerkatStartTurnRequest, MeerkatStartTurnAnswer];
  "turn/interrupt": [MeerkatInterruptRequest, MeerkatInterruptAnswer];
  "session/read": [MeerkatReadRequest, MeerkatReadAnswer];
  "session/history": [MeerkatHistoryRequest, MeerkatHistoryAnswer];
  "session/list": [MeerkatListRequest, MeerkatListAnswer];
  "session/archive": [MeerkatArchiveRequest, MeerkatArchiveAnswer];
  "config/get": [Omit<MeerkatConfigRequest, "action">, MeerkatConfigAnswer];
  "config/set": [Omit<MeerkatConfigRequest, "action">, MeerkatConfigAnswer];
  "config/patch": [Omit<MeerkatConfigRequest, "action">, MeerkatConfigAnswer];
  "realm/list": [RealmListRequest, RealmListAnswer];
  "realm/get": [RealmGetRequest, RealmGetAnswer];
  "library/sessions": [LibrarySessionsRequest, LibrarySessionsAnswer];
  "library/session": [LibrarySessionRequest, LibrarySessionAnswer];
  "library/resume": [LibraryResumeRequest, LibraryResumeAnswer];
  "library/continue": [LibraryContinueRequest, LibraryContinueAnswer];
  "library/events": [LibraryEventsRequest, LibraryEventsAnswer];
  "library/export": [LibraryExportSessionRequest, LibraryExportSessionAnswer];
  "library/export/sessions": [LibraryExportSessionsRequest, LibraryExportSessionsAnswer];
  "library/search": [LibrarySearchRequest, LibrarySearchAnswer];
  "library/usage": [LibraryUsageRequest, LibraryUsageAnswer];
  "library/files": [LibraryFilesRequest, LibraryFilesAnswer];
  "library/session/files": [LibrarySessionFilesRequest, LibrarySessionFilesAnswer];
  "library/files/history": [LibraryFileHistoryRequest, LibraryFileHistoryAnswer];
  "library/activity": [LibraryActivityRequest, LibraryActivityAnswer];
  "library/now": [LibraryNowRequest, LibraryNowAnswer];
  "library/observations": [LibraryObservationsRequest, LibraryObservationsAnswer];
  "library/observation": [LibraryObservationRequest, LibraryObservationAnswer];
  "library/observation/confirm": [LibraryConfirmObservationRequest, LibraryConfirmObservationAnswer];
  "library/observation/edit": [LibraryEditObservationRequest, LibraryEditObservationAnswer];
  "library/observation/retire": [LibraryRetireObservationRequest, LibraryRetireObservationAnswer];
  "library/observation/delete": [LibraryDeleteObservationRequest, LibraryDeleteObservationAnswer];
  "library/ask": [LibraryAskRequest, LibraryAskAnswer];
  "library/health": [LibraryHealthRequest, LibraryHealthAnswer];
  "library/labels": [LibraryLabelsRequest, LibraryLabelsAnswer];
  "library/label/put": [LibraryPutLabelRequest, LibraryPutLabelAnswer];
  "library/label/remove": [LibraryRemoveLabelRequest, LibraryRemoveLabelAnswer];
  "library/note": [LibraryWriteNoteRequest, LibraryWriteNoteAnswer];
  "library/event/note": [LibraryWriteEventNoteRequest, LibraryWriteEventNoteAnswer];
  "library/forget": [LibraryForgetRequest, LibraryForgetAnswer];
}

/** The name of a JSON-RPC method. */
export type Method = keyof Methods;

/** Tools: arguments and structured result of each. */
export interface Tools {
  search_sessions: [SearchSessionsRequest, SearchSessionsAnswer];
  open: [OpenRequest, OpenAnswer];
  list_sessions: [ListSessionsRequest, ListSessionsAnswer];
  search_event_previews: [SearchEventPreviewsRequest, SearchEventPreviewsAnswer];
  get_event_details: [GetEventDetailsRequest, GetEventDetailsAnswer];
  get_session_details: [GetSessionDetailsRequest, GetSessionDetailsAnswer];
  analyze_session: [AnalyzeSessionRequest, AnalyzeSessionAnswer];
  search_events: [SearchEventsRequest, SearchEventsAnswer];
  search: [SearchRequest, SearchAnswer];
  get_observations: [GetObservationsRequest, GetObservationsAnswer];
  read: [ReadRequest, ReadAnswer];
  record_observation: [RecordObservationRequest, RecordObservationAnswer];
  get_or_create_journey: [GetOrCreateJourneyRequest, GetOrCreateJourneyAnswer];
  query_journey_history: [QueryJourneyHistoryRequest, QueryJourneyHistoryAnswer];
  add_document_to_journey: [AddDocumentToJourneyRequest, AddDocumentToJourneyAnswer];
  link_session_to_journey: [LinkSessionToJourneyRequest, LinkSessionToJourneyAnswer];
  meerkat_create_session: [MeerkatCreateSessionRequest, MeerkatCreateSessionAnswer];
  meerkat_start_turn: [MeerkatStartTurnRequest, MeerkatStartTurnAnswer];
  meerkat_interrupt: [MeerkatInterruptRequest, MeerkatInterruptAnswer];
  meerkat_read: [MeerkatReadRequest, MeerkatReadAnswer];
  meerkat_history: [MeerkatHistoryRequest, MeerkatHistoryAnswer];
  meerkat_list: [MeerkatListRequest, MeerkatListAnswer];
  meerkat_archive: [MeerkatArchiveRequest, MeerkatArchiveAnswer];
  meerkat_config: [MeerkatConfigRequest, MeerkatConfigAnswer];
}

/** The name of a tool. */
export type ToolName = keyof Tools;

/** The HTTP route of each method; a name in braces is a parameter. */
export const ROUTES: Readonly<Record<Method, string>> = {
  "journey/get_or_create": "POST /journeys",
  "journey/query": "GET /journeys/{journey_id}/history",
  "document/add": "POST /journeys/{journey_id}/documents",
  "journey/link": "POST /journeys/{journey_id}/sessions",
  "journey/timeline": "GET /journeys/{journey_id}/timeline",
  "document/list": "GET /journeys/{journey_id}/documents",
  "document/get": "GET /journeys/{journey_id}/documents/{document_id}",
  "document/delete": "DELETE /journeys/{journey_id}/documents/{document_id}",
  "journey/delete": "DELETE /journeys/{journey_id}",
  "session/create": "POST /sessions",
  "turn/start": "POST /sessions/{session_id}/messages",
  "turn/interrupt": "POST /sessions/{session_id}/interrupt",
  "session/read": "GET /sessions/{session_id}",
  "session/history": "GET /sessions/{session_id}/history",
  "session/list": "GET /sessions",
  "session/archive": "DELETE /sessions/{session_id}",
  "config/get": "GET /config",
  "config/set": "PUT /config",
  "config/patch": "PATCH /config",
  "realm/list": "GET /realms",
  "realm/get": "GET /realms/{realm_id}",
  "library/sessions": "GET /library/sessions",
  "library/session": "GET /library/sessions/{id}",
  "library/resume": "GET /library/sessions/{id}/resume",
  "library/continue": "POST /library/sessions/{id}/continue",
  "library/events": "GET /library/sessions/{id}/events",
  "library/export": "GET /library/sessions/{id}/export",
  "library/export/sessions": "GET /library/export",
  "library/search": "GET /library/search",
  "library/usage": "GET /library/usage",
  "library/files": "GET /library/files",
  "library/session/files": "GET /library/sessions/{id}/files",
  "library/files/history": "GET /library/files/history",
  "library/activity": "GET /library/activity",
  "library/now": "GET /library/now",
  "library/observations": "GET /library/observations",
  "library/observation": "GET /library/observations/{id}",
  "library/observation/confirm": "POST /library/observations/{id}/confirm",
  "library/observation/edit": "PATCH /library/observations/{id}",
  "library/observation/retire": "POST /library/observations/{id}/retire",
  "library/observation/delete": "DELETE /library/observations/{id}",
  "library/ask": "GET /library/ask",
  "library/health": "GET /library/health",
  "library/labels": "GET /library/labels",
  "library/label/put": "PUT /library/sessions/{id}/labels/{name}",
  "library/label/remove": "DELETE /library/sessions/{id}/labels/{name}",
  "library/note": "PUT /library/sessions/{id}/note",
  "library/event/note": "PUT /library/events/{id}/note",
  "library/forget": "POST /library/forget",
};
