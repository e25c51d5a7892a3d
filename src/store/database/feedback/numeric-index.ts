// Index of the numbers in payloads, by path and value, so that a query by a number reads few records. Each pair of
// project and path has a field id, which keeps index rows at about 20 bytes. If a record has too many numbers, it is
// only marked, and each query by a number also scans the marked records.
import { type Kysely, type Transaction, sql } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { PathStep } from "../../../base/domain/feedback-query/feedback-field.ts";
import type { PackedNumbers } from "../../../base/domain/feedback-query/feedback-batch.ts";
import { numbersIn } from "../../../base/domain/feedback-query/payload-numbers.ts";
import { insertRows } from "../insert-rows.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";
import { nextSequence } from "../paging.ts";

/**
 * Maximum number of indexed fields in a project. Clients may use arbitrary object keys, such as ids, so paths could
 * otherwise grow without bound.
 */
const fieldsMax = 2000;
/** Maximum number of field ids that are cached in memory, for all projects together. */
const knownMax = 100_000;
/** Maximum number of rows in an SQL statement with four parameters per row. */
const rowsMax = 1000;
/**
 * Maximum number of rows in an SQL statement that has one parameter per column. Such a parameter holds the values of
 * all rows.
 */
const listedMax = 20_000;

export function fieldPath(path: readonly PathStep[]): string {
  return JSON.stringify(path);
}

interface Numbered {
  readonly record: Pick<FeedbackRecord, "projectId" | "payload" | "createdAt">;
  readonly sequence: number;
}

/** A row of the index: field id, number, and the record's sequence number and creation time. */
type NumberRow = readonly [fieldId: number, number: number, sequence: number, createdMs: number];
const columns = ["field_id", "number", "sequence", "created_ms"] as const;

/** Field ids by project, then by payload path. */
export type Fields = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The index of the numbers in a database's feedback, with a cache of field ids. */
export class FeedbackNumbers {
  readonly #form: SqlForm;
  #known = new Map<string, Map<string, number>>();
  #knownCount = 0;

  constructor(form: SqlForm) {
    this.#form = form;
  }

  /**
   * Adds the numbers of newly inserted records, within the transaction that inserts them.
   *
   * @returns fields to pass to {@link learn} after the commit
   */
  async add(transaction: Transaction<Schema>, records: readonly Numbered[]): Promise<Fields> {
    const made = new Map<string, Map<string, number>>();
    const rows: NumberRow[] = [];
    for (const { record, sequence } of records) {
      const { projectId, payload } = record;
      for (const { path, number } of numbersIn(payload).numbers) {
        const fieldId = await this.#fieldOf(transaction, { projectId, path }, made);
        if (fieldId !== null) rows.push([fieldId, number, sequence, record.createdAt.getTime()]);
        else await markAsMore(transaction, projectId, sequence);
      }
    }
    await insertNumbers(transaction, this.#form, rows);
    return made;
  }

  /** Adds the numbers of a batch like {@link add}. `first` is the sequence number of the batch's first record. */
  async addBatch(
    transaction: Transaction<Schema>,
    { fields, triples }: PackedNumbers,
    { first, createdAt }: { readonly first: number; readonly createdAt: Date },
  ): Promise<Fields> {
    const made = new Map<string, Map<string, number>>();
    const fieldIds: (number | null)[] = [];
    for (const field of fields) fieldIds.push(await this.#fieldOf(transaction, field, made));
    const rows: NumberRow[] = [];
    for (let start = 0; start < triples.length; start += 3) {
      const fieldId = fieldIds[triples[start]];
      const sequence = first + triples[start + 1];
      if (fieldId !== null) rows.push([fieldId, triples[start + 2], sequence, createdAt.getTime()]);
      else await markAsMore(transaction, fields[triples[start]].projectId, sequence);
    }
    await insertNumbers(transaction, this.#form, rows);
    return made;
  }

  /**
   * Finds or creates the field of a path.
   *
   * @param made fields created in this transaction; a new field is added to it
   * @returns null if the project has the maximum number of fields
   */
  async #fieldOf(
    transaction: Transaction<Schema>,
    { projectId, path }: PackedNumbers["fields"][number],
    made: Map<string, Map<string, number>>,
  ): Promise<number | null> {
    const known = this.#known.get(projectId)?.get(path) ?? made.get(projectId)?.get(path);
    if (known !== undefined) return known;
    const fieldId = await makeField(transaction, projectId, path);
    if (fieldId !== null) note(made, projectId, path, fieldId);
    return fieldId;
  }

  /**
   * Caches fields after the transaction that created them is committed. Fields are never deleted, so the cache stays
   * valid.
   */
  learn(fields: Fields): void {
    for (const [projectId, paths] of fields) {
      if (this.#knownCount + paths.size > knownMax) [this.#known, this.#knownCount] = [new Map(), 0];
      for (const [path, fieldId] of paths) note(this.#known, projectId, path, fieldId);
      this.#knownCount += paths.size;
    }
  }

  /** Removes a record's numbers from the index, within the transaction that removes or changes the record. */
  async remove(transaction: Transaction<Schema>, { record, sequence }: Numbered): Promise<void> {
    for (const { path, number } of numbersIn(record.payload).numbers) {
      const fieldId = await this.find(transaction, record.projectId, path);
      if (fieldId === null) continue;
      await transaction
        .deleteFrom("feedback_numbers")
        .where("field_id", "=", fieldId)
        .where("number", "=", number)
        .where("sequence", "=", sequence)
        .execute();
    }
  }

  /** Returns the field id of a path; null if the index contains no number at this path for the project. */
  async find(database: Kysely<Schema>, projectId: string, path: string): Promise<number | null> {
    const known = this.#known.get(projectId)?.get(path);
    return known ?? (await storedField(database, projectId, path)) ?? null;
  }
}

/** Inserts the numbers of new records, which have no rows in the index yet. */
async function insertNumbers(
  transaction: Transaction<Schema>,
  { givenNumbers }: SqlForm,
  rows: readonly NumberRow[],
): Promise<void> {
  for (const chunk of chunkRows(rows, {
    rowsMax: givenNumbers === null ? rowsMax : listedMax,
    lengthOf: () => 0,
  })) {
    if (givenNumbers === null) {
      await insertRows(transaction, "feedback_numbers", columns, chunk);
      continue;
    }
    const lists = columns.map(
      (name, index) => [name, Float64Array.from(chunk, (row) => row[index])] as const,
    );
    const names = sql.join(columns.map((name) => sql.ref(name)));
    await sql`
      insert into feedback_numbers (${names}) select ${names} from ${givenNumbers(Object.fromEntries(lists))}`.execute(
      transaction,
    );
  }
}

/** Creates the field of a path; returns null if the project has the maximum number of fields. */
async function makeField(
  transaction: Transaction<Schema>,
  projectId: string,
  path: string,
): Promise<number | null> {
  const stored = await storedField(transaction, projectId, path);
  if (stored !== undefined) return stored;
  const { count } = await transaction
    .selectFrom("feedback_fields")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("project_id", "=", projectId)
    .executeTakeFirstOrThrow();
  if (count >= fieldsMax) return null;
  const id = await nextSequence(transaction, "feedback fields");
  await transaction
    .insertInto("feedback_fields")
    .values({ id, project_id: projectId, path })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return present(await storedField(transaction, projectId, path), "the field that was just stored");
}

async function storedField(
  database: Kysely<Schema>,
  projectId: string,
  path: string,
): Promise<number | undefined> {
  const row = await database
    .selectFrom("feedback_fields")
    .select("id")
    .where("project_id", "=", projectId)
    .where("path", "=", path)
    .executeTakeFirst();
  return row?.id;
}

async function markAsMore(
  transaction: Transaction<Schema>,
  projectId: string,
  sequence: number,
): Promise<void> {
  await sql`update feedback set has_more_numbers = 1 where project_id = ${projectId} and sequence = ${sequence}`.execute(
    transaction,
  );
}

function note(
  fields: Map<string, Map<string, number>>,
  projectId: string,
  path: string,
  fieldId: number,
): void {
  const paths = fields.get(projectId) ?? new Map<string, number>();
  paths.set(path, fieldId);
  fields.set(projectId, paths);
}
