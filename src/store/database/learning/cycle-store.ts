// Stores the cycles of learning models. A change of a cycle's stage, the change of its candidate version and the
// webhook event are one transaction.
import type { Kysely, Transaction } from "kysely";
import type { CycleProgress, LearningCycle } from "../../../base/domain/learning/learning-cycle.ts";
import type { LearningOrigin, LearningStore } from "../../../base/domain/learning/learning-store.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { lockModel } from "../models/version-store.ts";
import { nextSequence, readPage } from "../paging.ts";
import type { Schema } from "../schema.ts";
import type { Outbox } from "../webhooks/outbox.ts";
import { eventOfChange, newestServedStep, settleCandidate } from "./held-versions.ts";
import { lockHeld } from "./learning-lock.ts";
import { cycleOf, cycleRowOf, progressColumns } from "./learning-rows.ts";

type CycleQueries = Pick<LearningStore, "newestCycle" | "findCycle" | "listCycles" | "advance">;

export function cycleQueries({ queries: database }: Connection, outbox: Outbox): CycleQueries {
  const cyclesOf = (modelId: string) =>
    database.selectFrom("learning_cycles").selectAll().where("model_id", "=", modelId);
  return {
    newestCycle: async (modelId) => {
      const row = await cyclesOf(modelId).orderBy("sequence", "desc").limit(1).executeTakeFirst();
      return row === undefined ? null : cycleOf(row);
    },
    findCycle: async (id) => {
      const row = await database
        .selectFrom("learning_cycles")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row === undefined ? null : cycleOf(row);
    },
    listCycles: (modelId, page) => {
      const rows = cyclesOf(modelId);
      const orderValueOf = async (id: string) =>
        (await rows.where("id", "=", id).executeTakeFirst())?.sequence;
      const contentColumns = ["content", "progress"];
      return readPage({ rows, orderColumn: "sequence", contentColumns, orderValueOf, itemOf: cycleOf }, page);
    },
    advance: (hold, { id }, { from, progress }) =>
      database.transaction().execute(async (transaction) => {
        await lockModel(transaction, hold.modelId);
        if (!(await lockHeld(transaction, hold))) return null;
        const cycle = await activeCycle(transaction, hold.modelId);
        if (cycle === null || cycle.id !== id || cycle.stage !== from) return null;
        const newest = await newestServedStep(transaction, hold.modelId);
        const next = { ...cycle, ...checked(cycle, progress, newest) };
        await storeProgress(transaction, outbox, cycle, next);
        return next;
      }),
  };
}

/** Returns the progress to store. It differs from the wanted one if another version was published meanwhile. */
function checked(cycle: LearningCycle, wanted: CycleProgress, newest: number | null): CycleProgress {
  const isPromotion = cycle.stage === "evaluating" && ["watching", "promoted"].includes(wanted.stage);
  const endedAt = wanted.endedAt ?? wanted.promotedAt;
  if (isPromotion && newest !== cycle.baseStep) {
    const reason = `Version ${newest ?? 0} became the newest while the candidate was evaluated against version ${cycle.baseStep ?? 0}.`;
    return { ...wanted, stage: "refused", promotedAt: null, endedAt, reason };
  }
  if (wanted.stage === "rolled_back" && newest !== cycle.candidateStep) {
    const reason = `Its answers were rated worse, but version ${newest ?? 0} has replaced it.`;
    return { ...wanted, stage: "promoted", endedAt, reason };
  }
  return wanted;
}

export async function storeProgress(
  transaction: Transaction<Schema>,
  outbox: Outbox,
  before: LearningCycle,
  after: LearningCycle,
): Promise<void> {
  await settleCandidate(transaction, after);
  await transaction
    .updateTable("learning_cycles")
    .set(progressColumns(after))
    .where("id", "=", after.id)
    .execute();
  const event = eventOfChange(before.stage, after.stage);
  if (event !== null) await outbox.addCycle(transaction, event, after);
}

/**
 * Stores a new cycle in the transaction that stores its job.
 *
 * @throws ServiceError `conflict` if the server does not run the model's learning any more, or a cycle is in progress
 */
export async function startCycle(
  transaction: Transaction<Schema>,
  { hold, cycle }: LearningOrigin,
): Promise<void> {
  const isHeld = await lockHeld(transaction, hold);
  if (!isHeld || (await activeCycle(transaction, hold.modelId)) !== null) {
    const message = "Another server runs the learning of this model, or a learning cycle is in progress.";
    throw new ServiceError({ code: "conflict", message });
  }
  const sequence = await nextSequence(transaction, "learning cycles");
  await transaction.insertInto("learning_cycles").values(cycleRowOf(cycle, sequence)).execute();
}

/**
 * @throws ServiceError `conflict` if the job made the candidate of a learning cycle, because a retry would bypass the
 *   cycle's gate
 */
export async function refuseRetryOfCycle(transaction: Transaction<Schema>, jobId: string): Promise<void> {
  const cycle = await transaction
    .selectFrom("learning_cycles")
    .select("id")
    .where("job_id", "=", jobId)
    .executeTakeFirst();
  if (cycle === undefined) return;
  const message =
    "This job belongs to a learning cycle, and is not tried again. The model's next learning cycle trains on the same feedback.";
  throw new ServiceError({ code: "conflict", message });
}

/** Returns the cycle in progress of a model; null if there is none. */
export async function activeCycle(database: Kysely<Schema>, modelId: string): Promise<LearningCycle | null> {
  const row = await database
    .selectFrom("learning_cycles")
    .selectAll()
    .where("model_id", "=", modelId)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  return row === undefined ? null : cycleOf(row);
}
