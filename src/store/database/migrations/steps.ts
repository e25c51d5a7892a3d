// Steps from each version of the database to the next, from the baseline on. A released step never changes: add a new one
// below it. A step says whether older servers may keep running on the database.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";

/** Statements, or a function that changes the database. Older servers stop when a newer one takes it. */
type BreakingStep = readonly string[] | ((transaction: Transaction<Schema>, form: SqlForm) => Promise<void>);

/**
 * Tables, columns and indexes (`additions.ts`) that older servers do not notice, so that they keep running next to newer ones.
 * Declaring it claims more than the statements can show: rows that older servers write without them, and the changes older
 * servers make to rows of newer ones, must be right too. Otherwise, or if the step changes the layout of the artifacts, use a
 * breaking step.
 */
interface AddingStep {
  readonly adds: readonly string[] | ((form: SqlForm) => readonly string[]);
}

export type Step = BreakingStep | AddingStep;

/** Steps to `baselineVersion` + 1, + 2 and so on. */
export const steps: readonly Step[] = [
  // Older servers make webhooks without one, and change none.
  { adds: ["alter table webhooks add column description text"] },
];
