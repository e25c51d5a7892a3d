// Stores the version of a database, and migrates it to the newest version. A new database gets the baseline tables and
// every step; an older one gets the steps after its version. This program does not change a newer database, but can use
// it if the newer steps only add, so that servers can be upgraded and rolled back one at a time.
import { type Kysely, type Transaction, sql } from "kysely";
import { assert } from "../../../base/domain/assert.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";
import { refusedAddition } from "./additions.ts";
import { baselineTables, baselineVersion } from "./baseline.ts";
import { type Step, steps } from "./steps.ts";

export const newestDatabaseVersion = newestOf(steps);

/** Version information, as a database stores it. */
export interface DatabaseVersion {
  readonly version: number;
  /** Oldest version that a program must know to use the database: the version of the last breaking step. */
  readonly servesFrom: number;
}

/**
 * Migrates the database to the newest version in one transaction. Concurrent migrations are safe, and a newer database
 * is not changed.
 *
 * @param known the migration steps that this program knows
 * @throws ServiceError `unsupported` if the database is older than the baseline, or a newer program changed it so that
 * this program cannot use it
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
    if (found !== null && found.servesFrom > newest) throw schemaTooNewError(found, newest);
    if (found !== null && found.version < baselineVersion) throw schemaTooOldError(found.version);
    const from = found?.version ?? null;
    if (from === null || from < newest) await takeSteps(transaction, { form, known }, { from, to: newest });
  });
}

function newestOf(known: readonly Step[]): number {
  return baselineVersion + known.length;
}

/** Returns the oldest version that a program must know to use a database of the given version. */
export function servesFrom(version: number, known: readonly Step[] = steps): number {
  const taken = known.slice(0, version - baselineVersion);
  return baselineVersion + taken.findLastIndex((step) => !("adds" in step)) + 1;
}

/**
 * Creates the tables of a version in a database that has no tables of this program.
 *
 * @param version from {@link baselineVersion} to the newest
 */
export async function makeTables(
  transaction: Transaction<Schema>,
  form: SqlForm,
  version: number,
): Promise<void> {
  await sql.raw(versionTable).execute(transaction);
  await takeSteps(transaction, { form, known: steps }, { from: null, to: version });
}

const versionTable =
  "create table if not exists database_version (version integer not null, serves_from integer)";

async function takeSteps(
  transaction: Transaction<Schema>,
  { form, known }: { readonly form: SqlForm; readonly known: readonly Step[] },
  { from, to }: { readonly from: number | null; readonly to: number },
): Promise<void> {
  if (from === null)
    for (const statement of baselineTables(form)) await sql.raw(statement).execute(transaction);
  const begun = from ?? baselineVersion;
  for (const step of known.slice(begun - baselineVersion, to - baselineVersion))
    await takeStep(transaction, form, step);
  await sql`delete from database_version`.execute(transaction);
  await sql`insert into database_version (version, serves_from) values (${to}, ${servesFrom(to, known)})`.execute(
    transaction,
  );
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

/** Returns the version of a database, without changing the database; null if it has no tables of this program. */
export async function readDatabaseVersion(queries: Kysely<Schema>): Promise<DatabaseVersion | null> {
  const tables = await queries.introspection.getTables();
  return tables.some(({ name }) => name === "database_version") ? readPresentVersion(queries) : null;
}

/** Returns the version of a database that has tables of this program. */
export async function readPresentVersion(queries: Kysely<Schema>): Promise<DatabaseVersion | null> {
  // A database older than the baseline may lack the column `serves_from`.
  const { rows } = await sql<{
    readonly version: number;
    readonly serves_from?: number | null;
  }>`select * from database_version`.execute(queries);
  if (rows.length === 0) return null;
  const [{ version, serves_from: from }] = rows;
  return { version, servesFrom: from ?? version };
}

function schemaTooNewError({ version, servesFrom: oldest }: DatabaseVersion, newest: number): ServiceError {
  const from = oldest === version ? "" : `, which programs work on that know ${oldest}`;
  return new ServiceError({
    code: "unsupported",
    message:
      `The database has version ${version}${from}, but this program knows only up to ${newest}. ` +
      "It was written by a newer program: upgrade this one, or use another data folder.",
  });
}

/** Returns the error for a database that is older than the baseline, and therefore cannot be migrated. */
export function schemaTooOldError(version: number): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message:
      `The database has version ${version}, but this program needs version ${baselineVersion} or newer, and cannot upgrade it: ` +
      "it was written by an unreleased build. Export what you need with that build, and start with an empty data folder or database.",
  });
}
