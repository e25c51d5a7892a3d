// The interface between a retention sweep and each kind of stored data.
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Position of a row in its kind's order, oldest first. */
export type Key = readonly (string | number)[];

export interface KeptRow {
  readonly key: Key;
  readonly entity: string;
  /** Model of the row; null if it belongs to no model. */
  readonly modelId: string | null;
  readonly at: string;
  readonly byteCount: number;
}

export interface Scope {
  readonly entity: string | null;
  readonly modelId: string | null;
}

/** An owner that exceeds a retention limit, and the excess. */
export interface Surplus {
  /** Name of the entity, or id of the model. */
  readonly of: string;
  /** Excess in bytes or in rows; above zero. */
  readonly amount: number;
}

/** Position in a list of owners ordered by name: after all of an owner's rows, or within them. */
export interface Behind {
  readonly name: string;
  readonly isWithin: boolean;
}

export interface KeptRows {
  /**
   * Returns the next rows after a key. A kind that has an index for the scope returns only that scope's rows.
   *
   * @param limit maximum number of rows; a shorter result means that no rows follow
   */
  window(
    queries: Kysely<Schema>,
    after: Key | null,
    scope: Scope,
    limit: number,
  ): Promise<readonly KeptRow[]>;
  /** Returns the first entity at or after a position whose bytes exceed the limit. */
  findEntityOverLimit(queries: Kysely<Schema>, behind: Behind, bytes: number): Promise<Surplus | null>;
  /** Finds models as `findEntityOverLimit` finds entities, by row count. Absent for kinds without a count limit. */
  readonly findModelOverLimit?: (
    queries: Kysely<Schema>,
    behind: Behind,
    count: number,
  ) => Promise<Surplus | null>;
  /**
   * Returns the keys (see {@link keyText}) of rows that must be kept. While the rows' models are locked, the result
   * cannot change.
   */
  needed(queries: Kysely<Schema>, rows: readonly KeptRow[]): Promise<ReadonlySet<string>>;
  /** Removes the rows that still exist and returns them. The caller has locked the rows of their models. */
  remove(transaction: Transaction<Schema>, rows: readonly KeptRow[], at: Date): Promise<readonly KeptRow[]>;
  /** Returns the number of stored bytes. @param entity null for all entities */
  stored(queries: Kysely<Schema>, entity: string | null): Promise<number>;
}

export function keyText(key: Key): string {
  return JSON.stringify(key);
}

/** Sums the bytes of rows by owner. */
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
