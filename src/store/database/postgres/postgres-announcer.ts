// Sends and receives announcements with PostgreSQL's LISTEN and NOTIFY, which reach every server within milliseconds.
// Sends them after the commit, because NOTIFY inside transactions would serialize the commits. If an announcement is
// lost, polling finds the change.
import { Client, type ClientConfig } from "pg";
import { type AnnouncedKind, announcedKinds } from "../../../base/domain/servers/pubsub.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { type Announcer, LocalAnnouncer } from "../pubsub/announcer.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/**
 * Name of the channel for announcements. Servers that use another schema of the same database use the same channel, so
 * each server ignores announcements of ids that it does not have.
 */
const channel = "hone";
/** Maximum number of announcements that wait to be sent. Further ones are dropped; polling finds their changes. */
const waitingMax = 1000;
/** Maximum time in milliseconds that stopping waits for unsent announcements and for a connection attempt. */
const stopMsMax = 1000;
/** Interval in milliseconds at which the connection is probed, and time limit in milliseconds for the answer. */
const probeMs = 10_000;
const answerMs = 5000;
/**
 * Pause in milliseconds after a lost connection. It starts at `firstPauseMs`, doubles each time, and is at most
 * `longestPauseMs`.
 */
const firstPauseMs = 50;
const longestPauseMs = 2000;

export class PostgresAnnouncer implements Announcer {
  readonly #config: ClientConfig;
  readonly #pool: PostgresPool;
  readonly #here = new LocalAnnouncer();
  readonly #stopping = new AbortController();
  readonly #waiting = new Set<string>();
  #sending: Promise<void> | null = null;
  /**
   * The running task that listens; null until there is a listener, because commands that never listen need no
   * connection.
   */
  #listening: Promise<void> | null = null;

  /**
   * @param url database to which a separate connection listens
   * @param pool connections for sending
   */
  constructor(url: string, pool: PostgresPool) {
    this.#config = {
      connectionString: url,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
      keepAlive: true,
      fallback_application_name: "hone",
    };
    this.#pool = pool;
  }

  announce(kind: AnnouncedKind, id: string): void {
    if (this.#stopping.signal.aborted || this.#waiting.size >= waitingMax) return;
    this.#waiting.add(`${kind} ${id}`);
    this.#sending ??= this.#send();
  }

  listen(kind: AnnouncedKind, hear: (id: string | null) => void): () => void {
    const leave = this.#here.listen(kind, hear);
    this.#listening ??= this.#keepListening(this.#stopping.signal);
    return leave;
  }

  /** Stops listening and sending. Must be called before the pool is closed. */
  async close(): Promise<void> {
    await atMost(stopMsMax, this.#sending);
    this.#stopping.abort();
    await atMost(stopMsMax, this.#listening);
  }

  /** Sends announcements until none is waiting; never rejects. */
  async #send(): Promise<void> {
    // Waits for one microtask, so that all announcements that are made in the current microtask are sent in a single
    // statement.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const payloads = [...this.#waiting];
      this.#waiting.clear();
      try {
        const client = await this.#pool.take(this.#pool.deadlineMs());
        await client
          .query("select pg_notify($1, payload) from unnest($2::text[]) as payload", [channel, payloads])
          .then(
            () => client.release(),
            () => client.release(true),
          );
      } catch {
        // Ignores the error, because other code reports an unreachable database. After the next connection, listeners
        // check everything.
      }
    }
    this.#sending = null;
  }

  async #keepListening(signal: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      const wasThere = await this.#listenOnce(signal);
      pauseMs = wasThere ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs);
      // The sleep rejects only if the announcer stops.
      await systemClock.sleep(pauseMs, { signal }).catch(() => undefined);
    }
  }

  /**
   * Listens until the connection is lost or the announcer stops. Resolves to true if it was connected; never rejects.
   */
  async #listenOnce(signal: AbortSignal): Promise<boolean> {
    const client = new Client(this.#config);
    const lost = new AbortController();
    client.on("error", () => lost.abort());
    client.on("end", () => lost.abort());
    client.on("notification", ({ payload = "" }) => this.#hear(payload));
    const either = AbortSignal.any([signal, lost.signal]);
    let isThere = false;
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      isThere = true;
      // Announces a gap, because announcements that were sent while there was no connection were missed.
      this.#here.announceGap();
      while (!either.aborted) {
        await systemClock.sleep(probeMs, { signal: either });
        await client.query("select 1");
      }
    } catch {
      // Ignores the error: the connection was lost, or the announcer was stopped. The next connection announces a gap.
    }
    // Limits the wait, because a connection that was lost without notice never reports its end.
    await atMost(
      answerMs,
      client.end().catch(() => undefined),
    );
    return isThere;
  }

  #hear(payload: string): void {
    const [kind, ...id] = payload.split(" ");
    const known = announcedKinds.find((each) => each === kind);
    // Ignores unknown kinds, because newer servers may announce kinds that this one does not know.
    if (known !== undefined) this.#here.announce(known, id.join(" "));
  }
}

/** Waits for the work, but not longer than `durationMs`. */
async function atMost(durationMs: number, work: Promise<void> | null): Promise<void> {
  const over = new AbortController();
  const tooLate = systemClock.sleep(durationMs, { signal: over.signal }).catch(() => undefined);
  await Promise.race([work, tooLate]);
  over.abort();
}
