// Steps from each version of the database to the next, from the baseline on. A released step never changes: add a new one
// below it. A step says whether older servers may keep running on the database.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";

/** Statements, or a function that changes the database. Older servers stop when a newer server applies it. */
type BreakingStep = readonly string[] | ((transaction: Transaction<Schema>, form: SqlForm) => Promise<void>);

/**
 * Tables, columns and indexes (`additions.ts`) that older servers do not notice, so that they keep running. Declaring
 * it claims more than the statements can show: rows that older servers write without the additions, and their changes
 * to rows of newer servers, must be right too. Otherwise, or if the step changes the layout of the artifacts, use a
 * breaking step.
 */
interface AddingStep {
  readonly adds: readonly string[] | ((form: SqlForm) => readonly string[]);
}

export type Step = BreakingStep | AddingStep;

/** Steps to `baselineVersion` + 1, + 2 and so on. */
export const steps: readonly Step[] = [
  // Older servers create webhooks without a description, and change none.
  { adds: ["alter table webhooks add column description text"] },
];
