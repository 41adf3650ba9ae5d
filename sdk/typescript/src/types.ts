/** What the server answers, by the names one speaks of it. Fields have the names that they have on the wire. */

import type {
  MeerkatConfigAnswer,
  MeerkatHistoryAnswer,
  MeerkatReadAnswer,
  MeerkatStartTurnAnswer,
  RealmListAnswer,
} from "./operations.js";

/** What a turn came to. */
export type TurnResult = MeerkatStartTurnAnswer;
/** Tokens, as the agent tells them; else by the length of what was said. */
export type Usage = TurnResult["usage"];
/** State and usage of a session. */
export type SessionState = MeerkatReadAnswer;
/** Some messages of a session, oldest first. */
export type HistoryPage = MeerkatHistoryAnswer;
/** A committed message of a session. */
export type Message = HistoryPage["messages"][number];
/** The config of a realm, and how often it was written. */
export type RealmConfig = MeerkatConfigAnswer;
/** A realm, as a list of them shows it. */
export type RealmRow = RealmListAnswer["realms"][number];

/** What a server tells of itself. */
export interface ServerInfo {
  name: string;
  version: string;
  /** The realm it works in; a fresh one where none was asked for. */
  realm_id: string;
  instance_id: string;
  backend: string;
  /** Every method that it knows. */
  methods: string[];
}

/** Which part of a long list. */
export interface PageOptions {
  /** How many to pass over. Default 0. */
  offset?: number;
  /** How many to have, at most 1000. Default 100. */
  limit?: number;
}

export interface ListOptions extends PageOptions {
  /** Only sessions that have all of these. */
  labels?: Readonly<Record<string, string>>;
  /** Also sessions that were read from agents' logs. */
  imported?: boolean;
}

/** Who runs a turn. It is kept with the session for later turns. */
export interface RunnerOptions {
  /** `recall` (default: answers from the realm's own history), `command`, `acp`, or a name from the realm's config. */
  runner?: string;
  /** A program and its arguments, for the runners `command` and `acp`. */
  command?: readonly string[];
}

export interface TurnOptions extends RunnerOptions {
  /** Interrupts the turn when it is aborted; the turn then rejects with `RequestCancelled`. */
  signal?: AbortSignal;
}

/** A session to be made, without its first turn. */
export interface DeferredOptions extends RunnerOptions {
  labels?: Readonly<Record<string, string>>;
  /** The person, by UUID, whose journey the session joins; it is made if need be. */
  userId?: string;
  /** The journey that the session joins. */
  journeyId?: string;
}

/** A session to be made, and what to ask first. */
export interface CreateOptions extends DeferredOptions {
  prompt: string;
}

export interface ConfigOptions {
  /** Write only if the config is still of this generation; else `GenerationConflict`. */
  expectedGeneration?: number;
}
