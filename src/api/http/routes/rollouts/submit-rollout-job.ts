// Submits a training job for rollouts. A repeated request with the same idempotency key creates no second job.
import type { FastifyRequest } from "fastify";
import type { JobTask } from "../../../../base/domain/job.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { locate } from "../../../wire/field-paths.ts";
import type { ReadRolloutSelection } from "../../../wire/rollouts/rollout-job.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { reachModel } from "../reach.ts";
import { notAppliedWarnings, submittedBefore, submitWith, trainerPaths } from "../submit-job.ts";

/** A job for rollouts as read from a request's body. */
interface SubmittedRolloutJob {
  readonly modelId: string;
  readonly task: JobTask;
  readonly configNotApplied: readonly string[];
  readonly selection: ReadRolloutSelection;
  readonly hash: string;
}

/**
 * Stores the job durably, together with its rollouts, and returns its id.
 *
 * @throws ServiceError `conflict` if there are no rollouts to train on, or another job trains on some of them
 */
export async function submitRolloutJob(
  request: FastifyRequest,
  dependencies: HttpDependencies,
  { modelId, task, configNotApplied, selection, hash }: SubmittedRolloutJob,
): Promise<string> {
  const model = await reachModel(dependencies, request.caller, modelId, ["body", "model_id"]);
  const earlier = await submittedBefore(request, dependencies, hash);
  if (earlier !== null) return earlier;
  await dependencies.room.require(model.entity);
  const { choice } = selection;
  const place = ["body", choice.ids === null ? "rollouts" : "rollout_ids"];
  try {
    const id = await dependencies.rollouts.train(
      { ...selection, choice: { ...choice, modelId: model.id } },
      { task, configNotApplied, warnings: notAppliedWarnings(configNotApplied) },
      submitWith(request, dependencies, hash),
    );
    if (id !== null) return id;
  } catch (error) {
    throw locate(error, { not_found: place, conflict: place, too_large: place, ...trainerPaths(task.kind) });
  }
  const message = "There are no finished rollouts that match and on which no job trains yet.";
  throw new ServiceError({
    code: "conflict",
    message,
    faults: [{ location: place, message, type: "conflict" }],
  });
}
