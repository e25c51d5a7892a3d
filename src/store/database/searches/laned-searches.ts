// Runs searches in two sets of lanes, so that quick searches never wait for slow ones. A search that takes too long for
// a quick lane is cancelled and restarted in a slow lane, where each entity has one search at a time.
import type { CompiledQuery } from "kysely";
import { systemClock } from "../../../base/domain/clock.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { FairTurns } from "./fair-turns.ts";
import { tooManySearches, tooSlow, type Searches, type SearchTurn } from "./searches.ts";

/** Time in milliseconds after which a search counts as slow. */
const quickMs = 60;
/** Maximum number of searches that wait for each set of lanes. */
const waitingMax = 512;

/** A lane, such as a connection or a thread, which runs one search at a time. */
export interface SearchLane {
  /** Returns the rows of a query; null if it took longer than `timeMs`. */
  run<Row>(query: CompiledQuery<Row>, timeMs: number): Promise<readonly Row[] | null>;
  /** Ends the running search and closes the lane. Closing a closed lane does nothing. */
  close(): Promise<void>;
}

interface Lanes {
  readonly turns: FairTurns;
  /** Lanes in which no search is running. */
  readonly idle: SearchLane[];
}

export class LanedSearches implements Searches {
  readonly #quick: Lanes;
  readonly #slow: Lanes;
  readonly #lanes: readonly SearchLane[];

  constructor({
    quick,
    slow,
  }: {
    readonly quick: readonly SearchLane[];
    readonly slow: readonly SearchLane[];
  }) {
    this.#lanes = [...quick, ...slow];
    this.#quick = { turns: new FairTurns(quick.length, waitingMax), idle: [...quick] };
    this.#slow = { turns: new FairTurns(slow.length, waitingMax), idle: [...slow] };
  }

  async run<Row>(query: CompiledQuery<Row>, turn: SearchTurn): Promise<readonly Row[]> {
    const rows =
      (await this.#runIn(this.#quick, query, turn, quickMs)) ??
      (await this.#runIn(this.#slow, query, turn, Number.POSITIVE_INFINITY));
    if (rows === null) throw tooSlow(turn);
    return rows;
  }

  /** Cancels all searches and closes all lanes. Closing them again does nothing. */
  async close(): Promise<void> {
    for (const { turns } of [this.#quick, this.#slow]) turns.refuseAll();
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  /** Runs a query in one of the given lanes; returns null if it timed out. */
  async #runIn<Row>(
    { turns, idle }: Lanes,
    query: CompiledQuery<Row>,
    turn: SearchTurn,
    timeMs: number,
  ): Promise<readonly Row[] | null> {
    const endTurn = await turns.take(turn.entity, turn.endMs);
    if (endTurn === "too many") throw tooManySearches();
    if (endTurn === "too late") throw tooSlow(turn);
    const lane = idle.pop();
    try {
      const leftMs = Math.min(timeMs, turn.endMs - systemClock.monotonicMs());
      if (leftMs <= 0) throw tooSlow(turn);
      // Some lane is idle, because there are as many lanes as turns.
      return (await lane?.run(query, leftMs)) ?? null;
    } catch (error) {
      throw fullDiskError(error) ?? error;
    } finally {
      if (lane !== undefined) idle.push(lane);
      endTurn();
    }
  }
}
