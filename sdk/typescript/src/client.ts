/** The client: a connection to a server, which works in one realm. */

import { call, callTool, checked } from "./responses.js";
import { startServer, type SpawnOptions } from "./child-process.js";
import { HttpTransport, type HttpOptions } from "./http-transport.js";
import { Journey } from "./journey.js";
import type { JsonObject, MeerkatArchiveAnswer, Method, RealmGetAnswer, ToolName, Tools } from "./operations.js";
import { Library } from "./library.js";
import { RpcTransport } from "./rpc-transport.js";
import { DeferredSession, Session, type StartedSession } from "./session.js";
import { connectTcp, LOCALHOST, type ConnectOptions } from "./line-connection.js";
import { findToken } from "./token.js";
import type {
  ConfigOptions,
  CreateOptions,
  DeferredOptions,
  HistoryPage,
  ListOptions,
  PageOptions,
  RealmConfig,
  RealmRow,
  ServerInfo,
  SessionState,
} from "./types.js";
import type { Answer, Request, ToolResult, Transport } from "./transport.js";

/** A client of one server. */
export class Client implements AsyncDisposable {
  /** The server's version, its realm, and the methods it has. */
  readonly server: ServerInfo;
  readonly #transport: Transport;

  private constructor(transport: Transport, server: ServerInfo) {
    this.#transport = transport;
    this.server = server;
  }

  /** Start a server, in a new realm unless one is named. It ends with `close`, or with this process. */
  static async spawn(options: SpawnOptions = {}): Promise<Client> {
    return Client.#open(new RpcTransport(startServer(options)));
  }

  /** Connect to a running server over TCP. The token of a server on this machine is found automatically. */
  static async connect({ token, ...address }: ConnectOptions): Promise<Client> {
    const knownToken = token ?? findToken(address.host ?? LOCALHOST, address.port);
    return Client.#open(new RpcTransport(connectTcp(address), knownToken));
  }

  /** Connect to a running server over HTTP. The token of a server on this machine is found automatically. */
  static async http(options: HttpOptions): Promise<Client> {
    return Client.#open(new HttpTransport(options));
  }

  static async #open(transport: Transport): Promise<Client> {
    try {
      return new Client(transport, await transport.handshake());
    } catch (error) {
      await transport.close();
      throw error;
    }
  }

  /** Disconnect. A server that this client started ends, and its running turns are interrupted. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- sessions

  /** Create a session and run its first turn. If the turn fails, the session exists; the error has its `sessionId`. */
  async createSession(options: CreateOptions): Promise<StartedSession> {
    const result = await call(this.#transport, "session/create", { ...sessionParams(options), prompt: options.prompt });
    return new Session(this.#transport, result.session_id, checked("turn/start", result)) as StartedSession;
  }

  /** Create a session without running a turn. */
  async createDeferredSession(options: DeferredOptions = {}): Promise<DeferredSession> {
    const params = { ...sessionParams(options), initial_turn: "deferred" } as const;
    return new DeferredSession(this.#transport, (await call(this.#transport, "session/create", params)).session_id);
  }

  /** An existing session. Sends no request. */
  session(id: string): Session {
    return new Session(this.#transport, id);
  }

  /** Sessions of the realm, most recently used first. Archived sessions are left out. */
  async listSessions(options: ListOptions = {}): Promise<SessionState[]> {
    const { labels, imported, offset, limit } = options;
    return (await call(this.#transport, "session/list", { labels, imported, offset, limit })).sessions;
  }

  /** State and usage of a session. */
  readSession(sessionId: string): Promise<SessionState> {
    return this.session(sessionId).read();
  }

  /** One page of a session's committed messages, oldest first. Also works for archived sessions. */
  readSessionHistory(sessionId: string, options: PageOptions = {}): Promise<HistoryPage> {
    return this.session(sessionId).history(options);
  }

  /** Archive a session: it is hidden from lists and runs no more turns. Its history stays readable. */
  archiveSession(sessionId: string): Promise<MeerkatArchiveAnswer> {
    return this.session(sessionId).archive();
  }

  // ---- the realm

  /** The realm's config. */
  configGet(): Promise<RealmConfig> {
    return call(this.#transport, "config/get", {});
  }

  /** Replace the realm's config. Rejects with `GenerationConflict` if its generation is not the expected one. */
  configSet(config: JsonObject, { expectedGeneration }: ConfigOptions = {}): Promise<RealmConfig> {
    return call(this.#transport, "config/set", { config, expected_generation: expectedGeneration });
  }

  /** Change the realm's config by a merge patch (RFC 7396); null removes a key. */
  configPatch(patch: JsonObject, { expectedGeneration }: ConfigOptions = {}): Promise<RealmConfig> {
    return call(this.#transport, "config/patch", { patch, expected_generation: expectedGeneration });
  }

  /** All realms of the server. */
  async realms(): Promise<RealmRow[]> {
    return (await call(this.#transport, "realm/list", {})).realms;
  }

  /** One realm, with its size and the processes that use it. */
  realm(realmId: string): Promise<RealmGetAnswer> {
    return call(this.#transport, "realm/get", { realm_id: realmId });
  }

  // ---- everything else

  /** What the archive knows: sessions, events, search, usage, files, observations. Sends no request. */
  get library(): Library {
    return new Library(this.#transport);
  }

  /** The journey of a person, created if there is none. Without a `userId`, a new journey. */
  async journey({ userId }: { userId?: string } = {}): Promise<Journey> {
    return new Journey(this.#transport, await call(this.#transport, "journey/get_or_create", { user_id: userId }));
  }

  /**
   * Call a tool, as an agent would. An error of the tool is a result too, with `isError`. Over HTTP, `fetch` waits at most
   * five minutes: run longer turns with a `Session`.
   */
  callTool<Name extends ToolName>(name: Name, args: Tools[Name][0]): Promise<ToolResult<Tools[Name][1]>>;
  callTool<Name extends string>(name: Name extends ToolName ? never : Name, args?: object): Promise<ToolResult>;
  callTool(name: string, args: object = {}): Promise<ToolResult> {
    return callTool(this.#transport, name, args);
  }

  /** Call any JSON-RPC method by its name. */
  request<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#transport.call(method, params);
  }
}

/** The options of a new session, by their JSON names. */
function sessionParams(options: DeferredOptions): Request<"session/create"> {
  return {
    labels: options.labels,
    runner: options.runner,
    command: options.command?.slice(),
    user_id: options.userId,
    journey_id: options.journeyId,
  };
}
