// Finds a model or a job for a caller, or says why not: unknown, or another entity's.
import type { Caller } from "../../domain/access.ts";
import type { TrainingJob } from "../../domain/job.ts";
import type { TrainedModel } from "../../domain/model.ts";
import { notFound } from "../../domain/service-error.ts";
import { refuseOtherEntity } from "../authentication.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../errors.ts";

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
  const model = await models.find(id.toLowerCase());
  if (model === null) throw missing("model", id, location);
  refuseOtherEntity(caller, model.entity, `The model ${id}`, ...location);
  return model;
}

/** @throws ServiceError `not_found`, or `forbidden` when the job's model is another entity's */
export async function reachJob(
  dependencies: Pick<HttpDependencies, "models" | "jobs">,
  caller: Caller,
  id: string,
): Promise<TrainingJob> {
  const location = ["path", "job_id"];
  const job = await dependencies.jobs.find(id.toLowerCase());
  const model = job === null ? null : await dependencies.models.find(job.modelId);
  if (job === null || model === null) throw missing("training job", id, location);
  refuseOtherEntity(caller, model.entity, `The training job ${id}`, ...location);
  return job;
}

function missing(kind: string, id: string, location: readonly string[]): unknown {
  return locate(notFound(kind, id.slice(0, 200)), { not_found: location });
}
