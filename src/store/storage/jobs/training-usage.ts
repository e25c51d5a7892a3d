// What a job that succeeded has used, added to its key's in the transaction that ends the job.
import type { Transaction } from "kysely";
import { type JobCounts, trainedTokens } from "../../../base/domain/job.ts";
import { dayOf, noUsage } from "../../../base/domain/keys/usage.ts";
import { addUsage } from "../keys/usage-store.ts";
import type { Schema } from "../schema.ts";

/** @param at when the job ended */
export async function addTrainingUsage(
  transaction: Transaction<Schema>,
  jobId: string,
  { counts, at }: { readonly counts: JobCounts; readonly at: Date },
): Promise<void> {
  const trainingTokens = trainedTokens(counts);
  if (trainingTokens === 0) return;
  const job = await transaction
    .selectFrom("jobs")
    .innerJoin("models", "models.id", "jobs.model_id")
    .select(["jobs.key_id", "models.entity", "models.project", "models.name"])
    .where("jobs.id", "=", jobId)
    .executeTakeFirstOrThrow();
  const { key_id: keyId, entity, project, name } = job;
  const by = { day: dayOf(at), keyId: keyId ?? "", entity, model: `${entity}/${project}/${name}` };
  await addUsage(transaction, [{ ...noUsage, ...by, trainingTokens }]);
}
