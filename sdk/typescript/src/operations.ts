// generated, do not edit: `make sdk` writes this file from the table of operations

/** A JSON object with any fields. */
export type JsonObject = { [name: string]: unknown };

/** Search the history of previous sessions: find, look up, read and recall a previous session, a past conversation, old chats, chat history, conversation history, session history, transcripts and logs of every AI agent on this machine. A memory of what the user or an agent said: what we did, discussed or decided yesterday, last week or last time, how we solved a bug or error before, prior work. Use it first when earlier work could help. Write the words you expect in the text; identifiers, paths and error codes match whole and in parts, a "double-quoted part" literally. Hits are handles of about 150 tokens. Next: `open` a hit's event_id for the full text, its turn_id or session_id for more; or search again with within_id. By date: list_sessions. */
export interface SearchSessionsRequest {
  /** What to look for, 1 to 4096 characters. Example: ClickHouse schema migration failure. */
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
};
