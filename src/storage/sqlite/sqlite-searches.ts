// Searches of a SQLite file: quick ones by themselves, so that none waits for a slow one. What is not done in a moment is
// begun again among the slow ones, of which one entity has one at a time.
import type { CompiledQuery } from "kysely";
import { systemClock } from "../../domain/clock.ts";
import { fullDiskError } from "../../domain/obstacles/full-disk.ts";
import { FairTurns } from "../searches/fair-turns.ts";
import { tooManySearches, tooSlow, type Searches, type SearchTurn } from "../searches/searches.ts";
import { haveThreads } from "./libsql-threads.ts";
import { SearchSession } from "./search-session.ts";

/** A search that takes longer is a slow one. */
const quickMs = 60;
/** Slow ones at once: those of two entities. Each takes a core as long as it runs. */
const slowMax = 2;
/** Searches that wait, of each kind. */
const waitingMax = 512;

interface Lane {
  readonly turns: FairTurns;
  /** Those that nobody uses. */
  readonly idle: SearchSession[];
}

export class SqliteSearches implements Searches {
  readonly #quick: Lane;
  readonly #slow: Lane;
  readonly #sessions: readonly SearchSession[];

  constructor(file: string) {
    haveThreads(1 + slowMax);
    const sessions = Array.from({ length: 1 + slowMax }, () => new SearchSession(file));
    this.#sessions = sessions;
    this.#quick = { turns: new FairTurns(1, waitingMax), idle: sessions.slice(0, 1) };
    this.#slow = { turns: new FairTurns(slowMax, waitingMax), idle: sessions.slice(1) };
  }

  async run<Row>(query: CompiledQuery<Row>, turn: SearchTurn): Promise<readonly Row[]> {
    const rows =
      (await this.#runIn(this.#quick, query, turn, quickMs)) ??
      (await this.#runIn(this.#slow, query, turn, Number.POSITIVE_INFINITY));
    if (rows === null) throw tooSlow(turn);
    return rows;
  }

  /** Ends all. Idempotent. */
  async close(): Promise<void> {
    for (const { turns } of [this.#quick, this.#slow]) turns.refuseAll();
    await Promise.all(this.#sessions.map((session) => session.close()));
  }

  /** Null where it was not done in time. */
  async #runIn<Row>(
    { turns, idle }: Lane,
    query: CompiledQuery<Row>,
    turn: SearchTurn,
    timeMs: number,
  ): Promise<readonly Row[] | null> {
    const endTurn = await turns.take(turn.entity, turn.endMs);
    if (endTurn === "too many") throw tooManySearches();
    if (endTurn === "too late") throw tooSlow(turn);
    const session = idle.pop();
    try {
      const leftMs = Math.min(timeMs, turn.endMs - systemClock.monotonicMs());
      if (leftMs <= 0) throw tooSlow(turn);
      // As many sessions as turns.
      return (await session?.run(query, leftMs)) ?? null;
    } catch (error) {
      throw fullDiskError(error) ?? error;
    } finally {
      if (session !== undefined) idle.push(session);
      endTurn();
    }
  }
}
