// What every kind of stored data tells a sweep of it.
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Its place in the order of a kind, the oldest first. */
export type Key = readonly (string | number)[];

export interface KeptRow {
  readonly key: Key;
  readonly entity: string;
  /** Null of what belongs to no model. */
  readonly modelId: string | null;
  readonly at: string;
  readonly byteCount: number;
}

export interface Scope {
  readonly entity: string | null;
  readonly modelId: string | null;
}

/** The limits that a sweep of a kind goes by, as the database knows what is over. */
export interface Surplus {
  /** The entity or the model. */
  readonly of: string;
  /** Bytes or a number, above zero. */
  readonly amount: number;
}

/** A place among names: behind all that is of one, or within that. */
export interface Behind {
  readonly name: string;
  readonly isWithin: boolean;
}

export interface KeptRows {
  /**
   * The next rows behind a key; a kind that finds the rows of a scope by an index leaves out all others.
   *
   * @param limit fewer rows are the last ones
   */
  window(
    queries: Kysely<Schema>,
    after: Key | null,
    scope: Scope,
    limit: number,
  ): Promise<readonly KeptRow[]>;
  /** The first entity behind a place that has more bytes than stay. */
  entityBeyond(queries: Kysely<Schema>, behind: Behind, bytes: number): Promise<Surplus | null>;
  /** The same of a model and its number; kinds that are not counted have none. */
  readonly modelBeyond?: (queries: Kysely<Schema>, behind: Behind, count: number) => Promise<Surplus | null>;
  /** Those of the rows that stay, by {@link keyText}. Rows whose models are locked stay as needed, or not, as they are. */
  needed(queries: Kysely<Schema>, rows: readonly KeptRow[]): Promise<ReadonlySet<string>>;
  /** Those that were still there. The rows of their models are this transaction's already. */
  remove(transaction: Transaction<Schema>, rows: readonly KeptRow[], at: Date): Promise<readonly KeptRow[]>;
  /** In bytes. @param entity null for all */
  stored(queries: Kysely<Schema>, entity: string | null): Promise<number>;
}

export function keyText(key: Key): string {
  return JSON.stringify(key);
}

/** The bytes of rows by what they belong to. */
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
