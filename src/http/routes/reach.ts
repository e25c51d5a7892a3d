// Finds a model or a job for a caller, or says why not: unknown, or another entity's model. What belongs to a model of
// another entity is not told from what does not exist.
import { mayReach, type Caller } from "../../domain/access.ts";
import type { TrainingJob } from "../../domain/job.ts";
import type { TrainedModel } from "../../domain/model.ts";
import { notFound } from "../../domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../../wire/places.ts";

/** The `params` of a route's schema, where its path names a model. */
export const modelParameters = {
  type: "object",
  properties: { model_id: { type: "string", description: "The model's id." } },
} as const;

/** The same of a job. */
export const jobParameters = {
  type: "object",
  properties: { job_id: { type: "string", description: "The job's id." } },
} as const;

/**
 * @param location where the id stood
 * @throws ServiceError `not_found`, or `forbidden` when the model is another entity's
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

/** @throws ServiceError `not_found`, also when the job's model is another entity's */
export async function reachJob(
  { models, jobs }: Pick<HttpDependencies, "models" | "jobs">,
  caller: Caller,
  id: string,
): Promise<TrainingJob> {
  const job = await jobs.find(id.toLowerCase());
  const entity = job === null ? null : await models.entityOf(job.modelId);
  if (job !== null && entity !== null && mayReach(caller, entity)) return job;
  throw locate(notFound("training job", id), { not_found: ["path", "job_id"] });
}
