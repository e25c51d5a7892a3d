// Interface that each kind of stored data implements, so that a retention sweep can find and remove its rows.
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Position of a row in the order in which data of its kind expires, oldest first. */
export type Key = readonly (string | number)[];

export interface KeptRow {
  readonly key: Key;
  readonly entity: string;
  /** Id of the model to which the row belongs; null if it belongs to no model. */
  readonly modelId: string | null;
  readonly at: string;
  readonly byteCount: number;
}

export interface Scope {
  readonly entity: string | null;
  readonly modelId: string | null;
}

/** An entity or a model that exceeds a retention limit, and by how much. */
export interface Surplus {
  /** Name of the entity, or id of the model, that exceeds the limit. */
  readonly of: string;
  /** Amount above the limit, in bytes or in rows; greater than zero. */
  readonly amount: number;
}

/**
 * Position in a list of entities or models that is ordered by name. If `isWithin` is true, the entity or model `name`
 * itself is still to be visited, otherwise only those after it.
 */
export interface Behind {
  readonly name: string;
  readonly isWithin: boolean;
}

export interface KeptRows {
  /**
   * Returns the next rows after a key. The scope is an entity, a model or everything. A kind of data that has an index
   * for the scope returns only the scope's rows; other kinds also return other rows.
   *
   * @param limit maximum number of rows; a shorter result means that no rows follow
   */
  window(
    queries: Kysely<Schema>,
    after: Key | null,
    scope: Scope,
    limit: number,
  ): Promise<readonly KeptRow[]>;
  /** Returns the first entity whose stored bytes exceed the limit, searching by name from the given position. */
  findEntityOverLimit(queries: Kysely<Schema>, behind: Behind, bytes: number): Promise<Surplus | null>;
  /**
   * Returns the first model with more rows than the limit. Absent for kinds of data without a limit on their number.
   */
  readonly findModelOverLimit?: (
    queries: Kysely<Schema>,
    behind: Behind,
    count: number,
  ) => Promise<Surplus | null>;
  /**
   * Returns the keys (see {@link keyText}) of the rows that are still needed and must not be removed. While the rows'
   * models are locked, the result cannot change.
   */
  needed(queries: Kysely<Schema>, rows: readonly KeptRow[]): Promise<ReadonlySet<string>>;
  /**
   * Removes the given rows that still exist, and returns them. The caller must have locked the rows of their models.
   */
  remove(transaction: Transaction<Schema>, rows: readonly KeptRow[], at: Date): Promise<readonly KeptRow[]>;
  /**
   * Returns the number of stored bytes of this kind of data.
   *
   * @param entity null to count the data of all entities
   */
  stored(queries: Kysely<Schema>, entity: string | null): Promise<number>;
}

export function keyText(key: Key): string {
  return JSON.stringify(key);
}

/** Sums the bytes of rows by the owner that `ownerOf` returns. Skips rows without an owner. */
export function bytesBy(
  rows: readonly KeptRow[],
  ownerOf: (row: KeptRow) => string | null,
): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>();
  for (const row of rows) {
    const owner = ownerOf(row);
    if (owner !== null) bytes.set(owner, (bytes.get(owner) ?? 0) + row.byteCount);
  }
  return bytes;
}

export function isBehind(name: RawBuilder<unknown>, behind: Behind): RawBuilder<boolean> {
  return behind.isWithin ? sql`${name} >= ${behind.name}` : sql`${name} > ${behind.name}`;
}
