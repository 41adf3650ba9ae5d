/** Where everything begins: a connection to a server, which works in one realm. */

import { ask, callTool, shaped } from "./ask.js";
import { startServer, type SpawnOptions } from "./child.js";
import { HttpWire, type HttpOptions } from "./http.js";
import { Journey } from "./journey.js";
import type { JsonObject, MeerkatArchiveAnswer, Method, RealmGetAnswer, ToolName, Tools } from "./operations.js";
import { RpcWire } from "./rpc.js";
import { DeferredSession, Session, type StartedSession } from "./session.js";
import { connectTo, LOCALHOST, type ConnectOptions } from "./socket.js";
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
import type { Answer, Request, ToolResult, Wire } from "./wire.js";

export class Client implements AsyncDisposable {
  /** What the server tells of itself, such as its realm. */
  readonly server: ServerInfo;
  readonly #wire: Wire;

  private constructor(wire: Wire, server: ServerInfo) {
    this.#wire = wire;
    this.server = server;
  }

  /** Start a server of our own. It ends with `close`, or with us. */
  static async spawn(options: SpawnOptions = {}): Promise<Client> {
    return Client.#greeted(new RpcWire(startServer(options)));
  }

  /** Use a server that runs already, over TCP. */
  static async connect({ token, ...where }: ConnectOptions): Promise<Client> {
    const found = token ?? findToken(where.host ?? LOCALHOST, where.port);
    return Client.#greeted(new RpcWire(connectTo(where), found));
  }

  /** Use a server that runs already, over HTTP. */
  static async http(options: HttpOptions): Promise<Client> {
    return Client.#greeted(new HttpWire(options));
  }

  static async #greeted(wire: Wire): Promise<Client> {
    try {
      return new Client(wire, await wire.greet());
    } catch (error) {
      await wire.close();
      throw error;
    }
  }

  /** Let go of the server; one of our own ends, and its running turns are interrupted. */
  close(): Promise<void> {
    return this.#wire.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- sessions

  /** Make a session and run its first turn. Where that fails the session is there; the error has its `sessionId`. */
  async createSession(options: CreateOptions): Promise<StartedSession> {
    const result = await ask(this.#wire, "session/create", { ...creation(options), prompt: options.prompt });
    return new Session(this.#wire, result.session_id, shaped("turn/start", result)) as StartedSession;
  }

  /** Make a session and run nothing yet. */
  async createDeferredSession(options: DeferredOptions = {}): Promise<DeferredSession> {
    const given = { ...creation(options), initial_turn: "deferred" } as const;
    return new DeferredSession(this.#wire, (await ask(this.#wire, "session/create", given)).session_id);
  }

  /** A session that exists already. Nothing is asked yet. */
  session(id: string): Session {
    return new Session(this.#wire, id);
  }

  /** Sessions of the realm, last used first, without archived ones. */
  async listSessions(options: ListOptions = {}): Promise<SessionState[]> {
    const { labels, imported, offset, limit } = options;
    return (await ask(this.#wire, "session/list", { labels, imported, offset, limit })).sessions;
  }

  /** State and usage of a session. */
  readSession(sessionId: string): Promise<SessionState> {
    return this.session(sessionId).read();
  }

  /** Some of the committed messages of a session, oldest first; also of an archived one. */
  readSessionHistory(sessionId: string, options: PageOptions = {}): Promise<HistoryPage> {
    return this.session(sessionId).history(options);
  }

  /** End a session for good: hidden from lists, no more turns. Its history stays. */
  archiveSession(sessionId: string): Promise<MeerkatArchiveAnswer> {
    return this.session(sessionId).archive();
  }

  // ---- the realm

  configGet(): Promise<RealmConfig> {
    return ask(this.#wire, "config/get", {});
  }

  /** Replace the realm's config. */
  configSet(config: JsonObject, { expectedGeneration }: ConfigOptions = {}): Promise<RealmConfig> {
    return ask(this.#wire, "config/set", { config, expected_generation: expectedGeneration });
  }

  /** Change the realm's config by a merge patch (RFC 7396): null takes a key away. */
  configPatch(patch: JsonObject, { expectedGeneration }: ConfigOptions = {}): Promise<RealmConfig> {
    return ask(this.#wire, "config/patch", { patch, expected_generation: expectedGeneration });
  }

  /** All realms here. */
  async realms(): Promise<RealmRow[]> {
    return (await ask(this.#wire, "realm/list", {})).realms;
  }

  /** What a realm is and holds. */
  realm(realmId: string): Promise<RealmGetAnswer> {
    return ask(this.#wire, "realm/get", { realm_id: realmId });
  }

  // ---- everything else

  /** A person's journey, made when it is first asked for; without a person, a new one. */
  async journey({ userId }: { userId?: string } = {}): Promise<Journey> {
    return new Journey(this.#wire, await ask(this.#wire, "journey/get_or_create", { user_id: userId }));
  }

  /**
   * Call a tool, as an agent would. What it refuses is an answer too, with `isError`. Over HTTP `fetch` waits five minutes
   * for it: a turn that may take longer is better run by a `Session`.
   */
  callTool<Name extends ToolName>(name: Name, given: Tools[Name][0]): Promise<ToolResult<Tools[Name][1]>>;
  callTool<Name extends string>(name: Name extends ToolName ? never : Name, given?: object): Promise<ToolResult>;
  callTool(name: string, given: object = {}): Promise<ToolResult> {
    return callTool(this.#wire, name, given);
  }

  /** Any method of the server, by its name on the wire. */
  request<M extends Method>(method: M, params: Request<M>): Promise<Answer<M>> {
    return this.#wire.call(method, params);
  }
}

/** The options of a new session, by their names on the wire. */
function creation(options: DeferredOptions): Request<"session/create"> {
  return {
    labels: options.labels,
    runner: options.runner,
    command: options.command?.slice(),
    user_id: options.userId,
    journey_id: options.journeyId,
  };
}
