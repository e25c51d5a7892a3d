// Finds the model or job that a request names, and checks the caller's access. Access to another entity's model is
// `forbidden`; a job of such a model is `not_found`.
import { mayReach, type Caller } from "../../../base/domain/access.ts";
import type { TrainingJob } from "../../../base/domain/job.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../../wire/field-paths.ts";

/**
 * Returns the model with this id.
 *
 * @param location location of the id in the request
 * @throws ServiceError `not_found`, or `forbidden` for another entity's model
 */
export async function reachModel(
  { models }: Pick<HttpDependencies, "models">,
  caller: Caller,
  id: string,
  location: readonly string[] = ["path", "model_id"],
): Promise<TrainedModel> {
  try {
    return await models.find(id, caller);
  } catch (error) {
    throw locate(error, { not_found: location, forbidden: location });
  }
}

/**
 * Returns the model and the version step that a path names.
 *
 * @throws ServiceError as {@link reachModel}, and `not_found` for a step that is not a number
 */
export async function reachStep(
  dependencies: Pick<HttpDependencies, "models">,
  caller: Caller,
  { model_id: id, step }: { readonly model_id: string; readonly step: string },
): Promise<{ readonly model: TrainedModel; readonly step: number }> {
  const model = await reachModel(dependencies, caller, id);
  if (!/^\d{1,9}$/.test(step)) throw notFound("version", step.slice(0, 200));
  return { model, step: Number(step) };
}

/**
 * Returns the job with this id.
 *
 * @throws ServiceError `not_found`, also for a job of another entity's model
 */
export async function reachJob(
  { models, jobs }: Pick<HttpDependencies, "models" | "jobs">,
  caller: Caller,
  id: string,
): Promise<TrainingJob> {
  const job = await jobs.find(id.toLowerCase());
  const owned = job === null ? null : await models.ownerOf(job.modelId);
  if (job !== null && owned !== null && mayReach(caller, owned)) return job;
  throw locate(notFound("training job", id), { not_found: ["path", "job_id"] });
}
