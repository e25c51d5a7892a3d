// Announcements over PostgreSQL's LISTEN and NOTIFY, which reach every server on the database within milliseconds. They are
// sent after what they tell is committed, several in one statement: a NOTIFY within a transaction would have the commits of
// all of them wait for each other. What is lost on the way is found by those who look.
import { Client, type ClientConfig } from "pg";
import { type AnnouncedKind, announcedKinds } from "../../../base/domain/servers/pubsub.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { type Announcer, LocalAnnouncer } from "../pubsub/announcer.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Of the database; servers in its other schemas hear of ids that they do not have. */
const channel = "hone";
/** Waiting to be sent; more is left to those who look. */
const waitingMax = 1000;
/** What a stop waits for what is not sent yet, and for a connection that is being made, in milliseconds. */
const stopMsMax = 1000;
/** Between two looks whether the connection still answers, and how long an answer may take, in milliseconds. */
const probeMs = 10_000;
const answerMs = 5000;
/** After a connection was lost; doubles up to the last, which repeats. */
const firstPauseMs = 50;
const longestPauseMs = 2000;

export class PostgresAnnouncer implements Announcer {
  readonly #config: ClientConfig;
  readonly #pool: PostgresPool;
  readonly #here = new LocalAnnouncer();
  readonly #stopping = new AbortController();
  readonly #waiting = new Set<string>();
  #sending: Promise<void> | null = null;
  /** Null until somebody listens: a command needs no connection for it. */
  #listening: Promise<void> | null = null;

  /** @param url where it listens, on a connection of its own @param pool where it sends */
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

  /** To be called before the pool is closed. */
  async close(): Promise<void> {
    await atMost(stopMsMax, this.#sending);
    this.#stopping.abort();
    await atMost(stopMsMax, this.#listening);
  }

  /** Sends until nothing waits any more; never rejects. */
  async #send(): Promise<void> {
    // What else is announced in this turn goes along.
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
        // The database is away, which others say: who listens looks at everything when it is back.
      }
    }
    this.#sending = null;
  }

  async #keepListening(signal: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      const wasThere = await this.#listenOnce(signal);
      pauseMs = wasThere ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs);
      // Cut short by the stop alone.
      await systemClock.sleep(pauseMs, { signal }).catch(() => undefined);
    }
  }

  /** Listens until the connection is lost or it stops; whether there was one. Never rejects. */
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
      // Before this connection nobody heard anything.
      this.#here.announceGap();
      while (!either.aborted) {
        await systemClock.sleep(probeMs, { signal: either });
        await client.query("select 1");
      }
    } catch {
      // Lost, or stopped: the next connection says what became of it.
    }
    // Of a connection that is lost without a word nobody says that it has ended.
    await atMost(
      answerMs,
      client.end().catch(() => undefined),
    );
    return isThere;
  }

  #hear(payload: string): void {
    const [kind, ...id] = payload.split(" ");
    const known = announcedKinds.find((each) => each === kind);
    // Newer servers may announce more.
    if (known !== undefined) this.#here.announce(known, id.join(" "));
  }
}

/** Waits for it, and no longer than so many milliseconds. */
async function atMost(durationMs: number, work: Promise<void> | null): Promise<void> {
  const over = new AbortController();
  const tooLate = systemClock.sleep(durationMs, { signal: over.signal }).catch(() => undefined);
  await Promise.race([work, tooLate]);
  over.abort();
}
