/** Short names for the generated types of responses, and the options of requests. Response fields have their JSON names. */

import type {
  MeerkatConfigAnswer,
  MeerkatHistoryAnswer,
  MeerkatReadAnswer,
  MeerkatStartTurnAnswer,
  RealmListAnswer,
} from "./operations.js";

/** The result of a turn. */
export type TurnResult = MeerkatStartTurnAnswer;
/** Tokens as the agent reports them, or estimated from the length of the text. */
export type Usage = TurnResult["usage"];
/** State and usage of a session. */
export type SessionState = MeerkatReadAnswer;
/** One page of a session's messages, oldest first. */
export type HistoryPage = MeerkatHistoryAnswer;
/** A committed message of a session. */
export type Message = HistoryPage["messages"][number];
/** The config of a realm. `generation` counts its changes. */
export type RealmConfig = MeerkatConfigAnswer;
/** A realm in a list of realms. */
export type RealmRow = RealmListAnswer["realms"][number];

/** A server's version, its realm, and the methods it has. */
export interface ServerInfo {
  name: string;
  version: string;
  /** The realm it works in. */
  realm_id: string;
  instance_id: string;
  backend: string;
  /** The names of its JSON-RPC methods. */
  methods: string[];
}

/** One page of a list. */
export interface PageOptions {
  /** Number of items to skip. Default: 0. */
  offset?: number;
  /** Number of items, at most 1000. Default: 100. */
  limit?: number;
}

export interface ListOptions extends PageOptions {
  /** Only sessions that have all of these labels. */
  labels?: Readonly<Record<string, string>>;
  /** Add the sessions that were read from agents' logs. */
  imported?: boolean;
}

/** The runner of a turn. Later turns of the session use it again. */
export interface RunnerOptions {
  /** `recall` (the default, which answers from the realm's own history), `command`, `acp`, or a name from the realm's config. */
  runner?: string;
  /** A program and its arguments, for the runners `command` and `acp`. */
  command?: readonly string[];
}

export interface TurnOptions extends RunnerOptions {
  /** Aborting it interrupts the turn, which rejects with `RequestCancelled`. */
  signal?: AbortSignal;
}

/** A session to create without a turn. */
export interface DeferredOptions extends RunnerOptions {
  labels?: Readonly<Record<string, string>>;
  /** The UUID of the person whose journey the session joins. The journey is created if there is none. */
  userId?: string;
  /** The journey that the session joins. */
  journeyId?: string;
}

/** A session to create, and the prompt of its first turn. */
export interface CreateOptions extends DeferredOptions {
  prompt: string;
}

export interface ConfigOptions {
  /** Write only if the config still has this generation; else reject with `GenerationConflict`. */
  expectedGeneration?: number;
}
