// The numbers that stand in payloads, by path and value: what lets a query find records by one of them without reading all.
// Each (project, path) has a number of its own, its field, so that a row is some twenty bytes. A record with more numbers,
// longer paths, or numbers deeper within than an index is worth is marked, and looked at by every query.
import { type Kysely, type Transaction, sql } from "kysely";
import { present } from "../../domain/assert.ts";
import type { FeedbackRecord } from "../../domain/feedback.ts";
import type { PathStep } from "../../domain/feedback-query/feedback-field.ts";
import { numberOfText, numberTextLengthMax, searchableText } from "../../domain/feedback-query/values.ts";
import type { Json, JsonObject } from "../../domain/trajectory.ts";
import { insertRows } from "../insert-rows.ts";
import { portions } from "../portions.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../sequences.ts";

/** Of one record. */
const numbersMax = 32;
const depthMax = 8;
/** Values of a payload that are looked at for numbers. */
const valuesMax = 500;
const pathLengthMax = 200;
/** Of one project; keys of objects may be anything, such as ids. */
const fieldsMax = 2000;
/** Kept in memory, of all projects. */
const knownMax = 100_000;
/** Of one statement, of four parameters each. */
const rowsMax = 1000;

interface PlacedNumber {
  /** The steps as JSON. */
  readonly path: string;
  readonly number: number;
}

export function fieldPath(path: readonly PathStep[]): string {
  return JSON.stringify(path);
}

interface Found {
  readonly numbers: PlacedNumber[];
  valueCount: number;
  hasMore: boolean;
}

/** Of payloads that are being written, which are asked for twice. */
const foundIn = new WeakMap<object, Found>();

function numbersIn(payload: JsonObject): Found {
  const known = foundIn.get(payload);
  if (known !== undefined) return known;
  const found: Found = { numbers: [], valueCount: 0, hasMore: false };
  findNumbers(payload, { steps: "", depth: 0 }, found);
  foundIn.set(payload, found);
  return found;
}

/** Whether the index lacks some of the payload's numbers. */
export function hasMoreNumbers(payload: JsonObject): boolean {
  return numbersIn(payload).hasMore;
}

/** The steps as JSON, without the brackets around them. */
interface Place {
  readonly steps: string;
  readonly depth: number;
}

function findNumbers(value: Json, place: Place, found: Found): void {
  if (found.hasMore) return;
  found.valueCount += 1;
  const number = numberOf(value);
  const isFull =
    number !== null && (found.numbers.length === numbersMax || place.steps.length > pathLengthMax);
  const isNested = value !== null && typeof value === "object";
  if (found.valueCount > valuesMax || isFull || (isNested && place.depth > depthMax)) {
    found.hasMore = true;
  } else if (number !== null) {
    found.numbers.push({ path: `[${place.steps}]`, number });
  } else if (isNested) {
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) findNumbers(item as Json, inside(place, index), found);
    else
      for (const [name, member] of Object.entries(value))
        findNumbers(member, inside(place, searchableText(name)), found);
  }
}

function inside({ steps, depth }: Place, step: PathStep): Place {
  const text = JSON.stringify(step);
  return { steps: steps === "" ? text : `${steps},${text}`, depth: depth + 1 };
}

function numberOf(value: Json): number | null {
  // Never -0, which some databases tell from 0.
  if (typeof value === "number") return value + 0;
  return typeof value === "string" && value.length <= numberTextLengthMax ? numberOfText(value) : null;
}

interface Numbered {
  readonly record: Pick<FeedbackRecord, "projectId" | "payload" | "createdAt">;
  readonly sequence: number;
}

/** Fields by project, and by path. */
export type Fields = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The index of a database's feedback, with the fields that this process knows. */
export class FeedbackNumbers {
  #known = new Map<string, Map<string, number>>();
  #knownCount = 0;

  /**
   * Adds the numbers of records that were just inserted, within their transaction.
   *
   * @returns fields to {@link learn} once the transaction has ended well
   */
  async add(transaction: Transaction<Schema>, records: readonly Numbered[]): Promise<Fields> {
    const made = new Map<string, Map<string, number>>();
    const rows: (readonly number[])[] = [];
    for (const { record, sequence } of records) {
      const { projectId, payload } = record;
      const [known, fresh] = [this.#known.get(projectId), made.get(projectId)];
      for (const { path, number } of numbersIn(payload).numbers) {
        let fieldId = known?.get(path) ?? fresh?.get(path) ?? null;
        if (fieldId === null) {
          fieldId = await makeField(transaction, projectId, path);
          if (fieldId !== null) note(made, projectId, path, fieldId);
        }
        if (fieldId !== null) rows.push([fieldId, number, sequence, record.createdAt.getTime()]);
        else await markAsMore(transaction, projectId, sequence);
      }
    }
    for (const portion of portions(rows, { rowsMax, lengthOf: () => 0 }))
      await insertRows(
        transaction,
        "feedback_numbers",
        ["field_id", "number", "sequence", "created_ms"],
        portion,
      );
    return made;
  }

  /** Fields stay for ever, so that what is known of them is right. */
  learn(fields: Fields): void {
    for (const [projectId, paths] of fields) {
      if (this.#knownCount + paths.size > knownMax) [this.#known, this.#knownCount] = [new Map(), 0];
      for (const [path, fieldId] of paths) note(this.#known, projectId, path, fieldId);
      this.#knownCount += paths.size;
    }
  }

  /** Takes those of a record out again, within the transaction that removes or changes it. */
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

  /** The field of a path; null where no record of the project has a number there that is in the index. */
  async find(database: Kysely<Schema>, projectId: string, path: string): Promise<number | null> {
    const known = this.#known.get(projectId)?.get(path);
    return known ?? (await storedField(database, projectId, path)) ?? null;
  }
}

/** Null where the project has no room for another one. */
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
