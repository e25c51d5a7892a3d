// A session with an environment of OpenEnv: a server that keeps the state of one episode for each WebSocket. A rollout
// of `train` opens a session, and calls `reset` and `step` in turn. Does not start the environment's server.
import { Connection } from "../connection.ts";
import { webPlatform, type Platform, type WebSocketClass } from "../platform.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import { refuseUnknown } from "../unknown-options.ts";
import { invalidOption, objectOf, stepOf, type EnvironmentStep } from "./messages.ts";
import { EnvironmentSession, type SessionLimits } from "./session.ts";

export interface OpenEnvOptions {
  /** Maximum milliseconds to wait for the connection, and for each answer; default 60,000. */
  readonly timeout?: number | undefined;
  /** Maximum length of an answer in characters; default 16,777,216. */
  readonly messageLengthMax?: number | undefined;
  /** Ends the session when it aborts. Calls then throw the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Class used instead of the platform's `WebSocket`. */
  readonly webSocket?: WebSocketClass | undefined;
}

/** The JSON Schemas of an environment. */
export interface EnvironmentSchemas {
  readonly action: JsonObject;
  readonly observation: JsonObject;
  readonly state: JsonObject;
}

const defaultTimeoutMs = 60_000;
/** An observation can contain a screenshot. */
const defaultMessageLengthMax = 2 ** 24;
const timeoutMsMax = 2 ** 31 - 1;

/**
 * Opens a session with an environment's server.
 *
 * @param url base URL of the server, such as `http://127.0.0.1:8001`
 * @throws HoneError `invalid` for an invalid URL or option, or on a platform without WebSockets; `connection` or
 * `timeout` if the server cannot be reached; the signal's reason if the signal aborts
 */
export async function openEnv<Observation = JsonObject, Action = JsonObject, State = JsonObject>(
  url: string,
  options: OpenEnvOptions = {},
  platform: Platform = webPlatform,
): Promise<OpenEnv<Observation, Action, State>> {
  const { timeout = defaultTimeoutMs, messageLengthMax = defaultMessageLengthMax, signal } = options;
  refuseUnknown(options, ["timeout", "messageLengthMax", "signal", "webSocket"], "openEnv");
  requireWhole("timeout", timeout, timeoutMsMax);
  requireWhole("messageLengthMax", messageLengthMax, Number.MAX_SAFE_INTEGER);
  const address = addressOf(url);
  const socketClass = options.webSocket ?? platform.webSocket();
  if (socketClass === null) throw invalidOption("webSocket", noWebSocket);
  signal?.throwIfAborted();
  const socketUrl = `${address.replace(/^http/, "ws")}/ws`;
  const limits = { timeoutMs: timeout, messageLengthMax, signal };
  const session = await EnvironmentSession.open(socketUrl, socketClass, limits);
  return new OpenEnv(address, session, limits);
}

const noWebSocket =
  "This platform has no WebSocket. Use Node 22 or newer, start Node 20 with --experimental-websocket, or pass the option webSocket: a class such as that of the package undici.";

/** A session with an environment. Its calls must not overlap; after a timeout or a lost connection, all calls fail. */
export class OpenEnv<Observation = JsonObject, Action = JsonObject, State = JsonObject> {
  readonly #address: string;
  readonly #session: EnvironmentSession;
  readonly #limits: SessionLimits;

  constructor(address: string, session: EnvironmentSession, limits: SessionLimits) {
    this.#address = address;
    this.#session = session;
    this.#limits = limits;
  }

  /**
   * Begins an episode, and returns the first observation.
   *
   * @param options fields that the environment knows, such as `seed` and `episode_id`; OpenEnv ignores unknown ones
   * @throws HoneError with the environment's error code in lower case, such as `capacity_reached`
   */
  async reset(options: JsonObject = {}): Promise<EnvironmentStep<Observation>> {
    return stepOf<Observation>(await this.#session.ask("observation", { type: "reset", data: options }));
  }

  /**
   * Performs an action.
   *
   * @throws HoneError `validation_error` if the action does not match the environment's schema
   */
  async step(action: Action): Promise<EnvironmentStep<Observation>> {
    return stepOf<Observation>(await this.#session.ask("observation", { type: "step", data: action }));
  }

  /** Returns the state of the episode. */
  async state(): Promise<State> {
    // Safe cast: the caller names the type of the environment's state.
    return (await this.#session.ask("state", { type: "state" })) as State;
  }

  /** Returns the schemas of the environment's actions, observations and state. */
  async schema(): Promise<EnvironmentSchemas> {
    const { timeoutMs: timeout, messageLengthMax, signal } = this.#limits;
    const connection = new Connection({ baseUrl: this.#address, apiKey: null, timeout });
    const answer = await connection.open({ method: "GET", path: "/schema", isRepeatable: true, signal });
    // Safe cast: OpenEnv's servers publish these three schemas.
    return objectOf(await answer.text(), messageLengthMax) as unknown as EnvironmentSchemas;
  }

  /** Ends the session, so that the environment's server can open another one in its place. Idempotent. */
  close(): Promise<void> {
    return this.#session.close();
  }
}

/** Returns the base URL without a slash or `/ws` at its end, and with the scheme `http` or `https`. */
function addressOf(url: string): string {
  const address = url.replace(/^ws/, "http").replace(/\/+$/, "").replace(/\/ws$/, "");
  const isUsable = URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
  if (isUsable && !/[?#]/.test(address)) return address;
  throw invalidOption(
    "url",
    `${JSON.stringify(url)} is no address of an environment, such as http://127.0.0.1:8001.`,
  );
}

function requireWhole(name: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw invalidOption(name, `${name} is ${value}; it must be a whole number from 1 to ${max}.`);
}
