// A session with a Tinker server. While the session is open, it sends heartbeats, which keep its models alive. After a
// few minutes without a heartbeat, the server ends the session and removes all its models.
import type { Clock } from "../../../../base/domain/clock.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { TinkerConnection } from "./connection.ts";
import { trainerUnavailable, garbled, isGone, jsonOf, refusalOf } from "./refusals.ts";

/** Interval between heartbeats in milliseconds; servers end a session after five minutes without one. */
const beatMs = 20_000;
/** Client version that the session reports. It determines in which format the server answers. */
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
   * Opens a session with the server.
   *
   * @param run name of the job, which the server shows
   * @throws ServiceError `unavailable`, marked as transient, if the server is unreachable; `cancelled`
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

  /**
   * Throws if the server has ended the session.
   *
   * @throws ServiceError `unavailable`
   */
  requireThere(): void {
    if (this.#isGone)
      throw new ServiceError({
        code: "unavailable",
        message: "The trainer has ended the session, and with it the models in training.",
      });
  }

  /** Stops the heartbeats, so that the server ends the session after its own timeout. */
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
        // Ignores the error. The next heartbeat is a retry, and operations in progress report a server that does not
        // answer.
        if (signal.aborted) return;
      }
    }
  }
}

/** Marks an error at the start of a job as transient, so that the job waits. No progress can be lost at that point. */
function asAway(error: unknown): never {
  if (error instanceof ServiceError && error.code === "unavailable")
    throw trainerUnavailable(error.message, error);
  throw error;
}
