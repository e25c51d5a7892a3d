// Finds a training job by its id, an id prefix or its model, and the names of the models that jobs train.
import type { Hone } from "../../client/hone.ts";
import type { TrainingJob } from "../../client/api.ts";
import { HoneError } from "../../client/hone-error.ts";
import { isUuid } from "../../../base/domain/random.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { findById, isIdPrefix } from "./find-by-id.ts";
import { findNamed } from "./named-version.ts";

/**
 * Returns the job that the user means, as {@link findJobId}.
 *
 * @throws HoneError for an unknown full id; otherwise the errors of {@link findJobId}
 */
export async function findJob(client: Hone, typed: string): Promise<TrainingJob> {
  return client.jobs.get(await findJobId(client, typed));
}

/**
 * Returns the id of the job that the user means by `typed`: the job's id, or a prefix of the id. The name of a model
 * means the model's newest job, and the name of a version the job that made it. Does not check a full id.
 *
 * @throws ServiceError `not_found` if there is no such job, `invalid` if several ids begin with the prefix
 */
export async function findJobId(client: Hone, typed: string): Promise<string> {
  if (isUuid(typed)) return typed;
  if (typed !== "" && !isIdPrefix(typed)) return findJobOfModel(client, typed);
  const { id } = await findById(typed, client.jobs.list(), { noun: "training job", list: "hone jobs list" });
  return id;
}

async function findJobOfModel(client: Hone, name: string): Promise<string> {
  const { model, step } = await findNamed(client, name).catch((error: unknown) => {
    if (name.includes("/") || !(error instanceof HoneError || error instanceof ServiceError)) throw error;
    throw notFound(
      `No training job has an id that begins with ${quoted(name)}, and no model has this name. \`hone jobs list\` lists the jobs.`,
    );
  });
  if (step !== null) {
    const { job_id: id } = await client.checkpoints.get(model.id, step);
    if (id === null) throw notFound(`No training job made version ${step} of ${quoted(name)}.`);
    return id;
  }
  const { data } = await client.jobs.list({ model_id: model.id, limit: 1 }).first();
  if (data.length === 0) throw notFound(`The model ${quoted(name)} has no training jobs.`);
  return data[0].id;
}

function notFound(message: string): ServiceError {
  return new ServiceError({ code: "not_found", message });
}

/** Returns each model's `project/name` by id; the name begins with the entity if the models have several entities. */
export async function modelNames(client: Hone): Promise<ReadonlyMap<string, string>> {
  const models = await client.models.list().all();
  const isOfOne = new Set(models.map(({ entity }) => entity)).size <= 1;
  return new Map(
    models.map(({ id, entity, project, name }) => [
      id,
      isOfOne ? `${project}/${name}` : `${entity}/${project}/${name}`,
    ]),
  );
}
