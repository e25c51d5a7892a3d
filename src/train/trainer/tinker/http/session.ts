// A session at a server: what its models live by. It beats as long as it is open; one that is silent for some minutes is
// ended there, with all its models.
import type { Clock } from "../../../../base/domain/clock.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { TinkerConnection } from "./connection.ts";
import { away, garbled, isGone, jsonOf, refusalOf } from "./refusals.ts";

/** Servers end a session after five minutes. */
const beatMs = 20_000;
/** What the client calls itself, since servers decide by it how they answer. */
const sdkVersion = "0.25.0";

export class TinkerSession {
  readonly id: string;
  readonly #connection: TinkerConnection;
  readonly #closing = new AbortController();
  #isGone = false;

  private constructor(id: string, connection: TinkerConnection) {
    this.id = id;
    this.#connection = connection;
  }

  /**
   * Opens a session.
   *
   * @param run what the job is called, for whoever looks at the server
   * @throws ServiceError `unavailable`, which a job waits for, when the server is not there; `cancelled`
   */
  static async open(
    connection: TinkerConnection,
    { run, clock, signal }: { readonly run: string; readonly clock: Clock; readonly signal: AbortSignal },
  ): Promise<TinkerSession> {
    const what = "create_session";
    const json = { type: what, tags: ["hone"], user_metadata: { run }, sdk_version: sdkVersion };
    const reply = await connection.ask({ path: what, json }, { isRepeatable: true, signal }).catch(asAway);
    if (reply.status !== 200 && reply.status !== 201) throw refusalOf(reply, what);
    const { session_id: id } = jsonOf(reply, what);
    if (typeof id !== "string") throw garbled(what, "no session_id");
    const session = new TinkerSession(id, connection);
    void session.#beat(clock);
    return session;
  }

  /** @throws ServiceError `unavailable` when the server has ended it */
  requireThere(): void {
    if (this.#isGone)
      throw new ServiceError({
        code: "unavailable",
        message: "The trainer has ended the session, and with it the models under training.",
      });
  }

  /** Beats no more: the server ends it in its time. */
  close(): void {
    this.#closing.abort();
  }

  async #beat(clock: Clock): Promise<void> {
    const { signal } = this.#closing;
    const path = "session_heartbeat";
    const asked = { path, json: { type: path, session_id: this.id }, timeoutMs: beatMs };
    while (!this.#isGone) {
      try {
        await clock.sleep(beatMs, { signal });
        const { status } = await this.#connection.once(asked, { signal });
        this.#isGone = isGone({ status });
      } catch {
        // What is under way tells when the server does not answer; whether it is back, the next beat sees.
        if (signal.aborted) return;
      }
    }
  }
}

/** At the beginning of a job nothing is lost by waiting. */
function asAway(error: unknown): never {
  if (error instanceof ServiceError && error.code === "unavailable") throw away(error.message, error);
  throw error;
}
