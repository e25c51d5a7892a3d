// Adds recorded completions to the counts of their rollouts, in the transaction that stores the completions.
import { type Transaction, sql } from "kysely";
import type { RecordedCompletion } from "../../../base/domain/recordings/recorded-completion.ts";
import type { Schema } from "../schema.ts";

/**
 * Adds completions to the counts of their rollouts. The caller has locked the rows of their models.
 *
 * @returns the ids of the rollouts that are still open; the other rollouts ended before their completions
 */
export async function countCalls(
  transaction: Transaction<Schema>,
  completions: readonly Pick<RecordedCompletion, "rolloutId" | "usage" | "step">[],
): Promise<ReadonlySet<string>> {
  const open = new Set<string>();
  // Locks the rollouts in a fixed order, to avoid deadlocks.
  const ids = new Set(completions.flatMap(({ rolloutId }) => rolloutId ?? []));
  for (const id of [...ids].sort()) {
    const calls = completions.filter(({ rolloutId }) => rolloutId === id);
    const tokens = calls.reduce((sum, { usage }) => sum + usage.promptTokens + usage.completionTokens, 0);
    const step = Math.max(...calls.map((call) => call.step));
    const { rows } = await sql`
      update rollouts set call_count = call_count + ${calls.length}, token_count = token_count + ${tokens},
        last_step = case when last_step > ${step} then last_step else ${step} end
      where id = ${id} and state = 'open' returning id`.execute(transaction);
    if (rows.length > 0) open.add(id);
  }
  return open;
}
