// Reads that may take long, as queries for feedback do: apart from all other reads, each within a time, and so that what
// one entity asks holds up no other. A part of a connection (`dialect`).
import type { CompiledQuery, Kysely } from "kysely";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Schema } from "../schema.ts";

/** Who asks, and until when the answer must be there. */
export interface SearchTurn {
  readonly entity: string;
  /** By the monotonic clock. */
  readonly endMs: number;
  /** How long it had from the beginning. */
  readonly timeMs: number;
}

export interface Searches {
  /**
   * The rows of a query. One that is not done in time is ended in the database.
   *
   * @throws ServiceError `too_slow` when the turn ends before, `overloaded` when too many wait
   */
  run<Row>(query: CompiledQuery<Row>, turn: SearchTurn): Promise<readonly Row[]>;
}

/** Where nothing can be interrupted: one after another, as all statements are. */
export function directSearches(queries: Kysely<Schema>): Searches {
  return { run: async (query) => (await queries.executeQuery(query)).rows };
}

export function tooSlow({ timeMs }: SearchTurn): ServiceError {
  const message = `The query took longer than ${timeMs / 1000} s, and was ended. Ask for less: by a reference, a type, an id or a number of the payload, for which there are indexes, or for what came after a time.`;
  return new ServiceError({ code: "too_slow", message });
}

export function tooManySearches(): ServiceError {
  const message =
    "Too many queries for feedback wait for their turn. Try again later, and ask for less at once.";
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}
