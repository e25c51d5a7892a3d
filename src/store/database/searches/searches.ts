// Read queries that may take long, such as feedback queries. They run separately from other reads, and each has a time
// limit; searches of one entity never block those of another. Each database connection (`dialect.ts`) provides them.
import type { CompiledQuery, Kysely } from "kysely";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Schema } from "../schema.ts";

/** The entity that searches, and the deadline of its search. */
export interface SearchTurn {
  readonly entity: string;
  /** Deadline on the monotonic clock, in milliseconds. */
  readonly endMs: number;
  /** Total time limit in milliseconds, which the error message states. */
  readonly timeMs: number;
}

export interface Searches {
  /**
   * Returns the rows of a query. A query that exceeds its time limit is cancelled in the database.
   *
   * @throws ServiceError `too_slow` if the time limit is reached, `overloaded` if too many searches wait
   */
  run<Row>(query: CompiledQuery<Row>, turn: SearchTurn): Promise<readonly Row[]>;
}

/**
 * Returns searches for a database that cannot interrupt queries. Searches then run one after another, like all other
 * statements.
 */
export function directSearches(queries: Kysely<Schema>): Searches {
  return { run: async (query) => (await queries.executeQuery(query)).rows };
}

export function tooSlow({ timeMs }: SearchTurn): ServiceError {
  const message = `The query took longer than ${timeMs / 1000} s and was cancelled. Narrow it by time; for feedback also by a reference, a type, an id or a number of the payload, which are indexed.`;
  return new ServiceError({ code: "too_slow", message });
}

export function tooManySearches(): ServiceError {
  const message = "Too many queries wait for their turn. Try again later, and ask for less at once.";
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}
