// Candidate versions of learning models: holds them back when their job ends, and frees or refuses them. A model's name
// never stands for a version that is held back.
import type { Kysely, Transaction } from "kysely";
import {
  type CycleStage,
  isFinalStage,
  type LearningCycle,
} from "../../../base/domain/learning/learning-cycle.ts";
import type { HeldVersion } from "../../../base/domain/model.ts";
import type { Schema } from "../schema.ts";
import { cycleOf } from "./learning-rows.ts";

/** Holds back the version that a cycle's job has just made, within the transaction that ends the job. */
export async function holdCandidate(
  transaction: Transaction<Schema>,
  { jobId, modelId, step }: { readonly jobId: string; readonly modelId: string; readonly step: number },
): Promise<void> {
  const cycle = await transaction
    .selectFrom("learning_cycles")
    .select("ended_at")
    .where("job_id", "=", jobId)
    .executeTakeFirst();
  if (cycle === undefined) return;
  const held: HeldVersion =
    cycle.ended_at === null
      ? { state: "candidate", reason: "It is not evaluated yet." }
      : { state: "refused", reason: "Learning was turned off before it was evaluated." };
  await setHeld(transaction, { modelId, step }, held);
}

/** Changes the candidate version as the new stage of its cycle requires. */
export async function settleCandidate(
  transaction: Transaction<Schema>,
  { modelId, candidateStep: step, stage, reason }: LearningCycle,
): Promise<void> {
  if (step === null || stage === "training" || stage === "evaluating" || stage === "failed") return;
  const held: HeldVersion | null =
    stage === "refused" || stage === "rolled_back" ? { state: stage, reason: reason ?? "" } : null;
  await setHeld(transaction, { modelId, step }, held);
}

async function setHeld(
  transaction: Transaction<Schema>,
  { modelId, step }: { readonly modelId: string; readonly step: number },
  held: HeldVersion | null,
): Promise<void> {
  await transaction
    .updateTable("model_versions")
    .set({ held: held === null ? null : JSON.stringify(held) })
    .where("model_id", "=", modelId)
    .where("step", "=", step)
    .execute();
}

/** Returns the versions that must not be deleted, because the cycle in progress of the model needs them. */
export async function stepsOfCycle(database: Kysely<Schema>, modelId: string): Promise<readonly number[]> {
  const row = await database
    .selectFrom("learning_cycles")
    .selectAll()
    .where("model_id", "=", modelId)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) return [];
  const { baseStep, candidateStep } = cycleOf(row);
  return [baseStep, candidateStep].filter((step) => step !== null);
}

/** Returns the number of a model's newest version that is not held back; null if there is none. */
export async function newestServedStep(database: Kysely<Schema>, modelId: string): Promise<number | null> {
  const row = await database
    .selectFrom("model_versions")
    .select("step")
    .where("model_id", "=", modelId)
    .where("is_deleted", "=", 0)
    .where("held", "is", null)
    .orderBy("step", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.step ?? null;
}

/** Returns the webhook event that reports a change of a cycle's stage; null if no event reports it. */
export function eventOfChange(from: CycleStage, to: CycleStage) {
  if (to === "rolled_back") return "learning.rolled_back";
  if (from !== "evaluating" || !(to === "watching" || isFinalStage(to))) return null;
  return to === "refused" ? "learning.refused" : "learning.promoted";
}
