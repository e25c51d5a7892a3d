// The versions of a database, and bringing it to the newest. A new database is made as version 26 at once, and takes every step
// from there on; an older one takes those from its own on. A newer one is worked on as it is where its steps allow that: a
// deployment is upgraded one server at a time, and back.
import { type Kysely, type Transaction, sql } from "kysely";
import { assert } from "../../../base/domain/assert.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";
import { refusedAddition } from "./additions.ts";
import { firstTables, firstTablesVersion } from "./first-tables.ts";
import { type Step, steps } from "./steps/steps.ts";

export const newestDatabaseVersion = newestOf(steps);

/** What a database says of itself. */
export interface DatabaseVersion {
  readonly version: number;
  /** The oldest version that a program may know which works on it: that of the last step that did more than add. */
  readonly servesFrom: number;
}

/**
 * Brings the database to the newest version, in one transaction, whichever processes do so at once. A newer one stays as it is.
 *
 * @param known the steps of this program
 * @throws ServiceError `unsupported` when a newer program brought the database where this one cannot work on it
 */
export async function migrate(
  { queries, form, lockForMigration }: Pick<Connection, "queries" | "form" | "lockForMigration">,
  known: readonly Step[] = steps,
): Promise<void> {
  const newest = newestOf(known);
  await queries.transaction().execute(async (transaction) => {
    await lockForMigration(transaction);
    await sql.raw(versionTable).execute(transaction);
    const found = await readPresentVersion(transaction);
    if (found !== null && found.servesFrom > newest) throw newerProgram(found, newest);
    const from = found?.version ?? 0;
    if (from < newest) await takeSteps(transaction, { form, known }, { from, to: newest });
  });
}

function newestOf(known: readonly Step[]): number {
  return known.length + 1;
}

/** Of a database at a version: the oldest version that a program may know which works on it. */
export function servesFrom(version: number, known: readonly Step[] = steps): number {
  return known.slice(0, version - 1).findLastIndex((step) => !("adds" in step)) + 2;
}

/**
 * Makes the tables of a version in a database that has nothing of this program.
 *
 * @param version {@link firstTablesVersion} at least, and the newest at most
 */
export async function makeTables(
  transaction: Transaction<Schema>,
  form: SqlForm,
  version: number,
): Promise<void> {
  await sql.raw(versionTable).execute(transaction);
  await takeSteps(transaction, { form, known: steps }, { from: 0, to: version });
}

const versionTable = "create table if not exists database_version (version integer not null)";

/** From here on the version has beside it which programs may go on. */
const servesFromVersion = 34;

async function takeSteps(
  transaction: Transaction<Schema>,
  { form, known }: { readonly form: SqlForm; readonly known: readonly Step[] },
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  if (from === 0) for (const statement of firstTables(form)) await sql.raw(statement).execute(transaction);
  const begun = from === 0 ? firstTablesVersion : from;
  for (const step of known.slice(begun - 1, to - 1)) await takeStep(transaction, form, step);
  await sql`delete from database_version`.execute(transaction);
  await sql`insert into database_version (version) values (${to})`.execute(transaction);
  if (to >= servesFromVersion)
    await sql`update database_version set serves_from = ${servesFrom(to, known)}`.execute(transaction);
}

async function takeStep(transaction: Transaction<Schema>, form: SqlForm, step: Step): Promise<void> {
  if (typeof step === "function") return step(transaction, form);
  const statements = statementsOf(step, form);
  const refused = "adds" in step ? refusedAddition(statements) : null;
  assert(refused === null, `a step that says so only adds, and this does more: ${refused}`);
  for (const statement of statements) await sql.raw(statement).execute(transaction);
}

function statementsOf(step: Exclude<Step, (...of: never) => unknown>, form: SqlForm): readonly string[] {
  if (!("adds" in step)) return step;
  return typeof step.adds === "function" ? step.adds(form) : step.adds;
}

/** The version of a database as it lies there, which stays; null where nothing of this program is in it. */
export async function readDatabaseVersion(queries: Kysely<Schema>): Promise<DatabaseVersion | null> {
  const tables = await queries.introspection.getTables();
  return tables.some(({ name }) => name === "database_version") ? readPresentVersion(queries) : null;
}

/** The same of a database that has tables of this program. */
export async function readPresentVersion(queries: Kysely<Schema>): Promise<DatabaseVersion | null> {
  // Older ones have no more than the version.
  const { rows } = await sql<{
    readonly version: number;
    readonly serves_from?: number | null;
  }>`select * from database_version`.execute(queries);
  if (rows.length === 0) return null;
  const [{ version, serves_from: from }] = rows;
  return { version, servesFrom: from ?? version };
}

function newerProgram({ version, servesFrom: oldest }: DatabaseVersion, newest: number): ServiceError {
  const from = oldest === version ? "" : `, which programs work on that know ${oldest}`;
  return new ServiceError({
    code: "unsupported",
    message:
      `The database has version ${version}${from}, but this program knows only up to ${newest}. ` +
      "It was written by a newer program: upgrade this one, or use another data folder.",
  });
}
