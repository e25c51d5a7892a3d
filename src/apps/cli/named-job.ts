// Finds a training job by its id or an id prefix, and the names of the models that jobs train.
import type { Hone } from "../client/hone.ts";
import type { TrainingJob } from "../client/api.ts";
import { isUuid } from "../../base/domain/random.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";

/**
 * Returns the job with an id or an id prefix.
 *
 * @throws HoneError for an unknown full id; for a prefix, the errors of {@link findJobId}
 */
export async function findJob(client: Hone, id: string): Promise<TrainingJob> {
  return client.jobs.get(await findJobId(client, id));
}

/**
 * Returns the job id that begins with `typed`; a full id is returned unchecked.
 *
 * @throws ServiceError `not_found` if no id begins with it, `invalid` if several do
 */
export async function findJobId(client: Hone, typed: string): Promise<string> {
  if (isUuid(typed)) return typed;
  const wanted = typed.toLowerCase();
  const ids: string[] = [];
  for await (const { id } of client.jobs.list()) if (id.startsWith(wanted)) ids.push(id);
  if (ids.length === 1 && wanted !== "") return ids[0];
  const code = ids.length === 0 ? "not_found" : "invalid";
  const what =
    ids.length === 0
      ? `No training job has an id that begins with ${quoted(typed)}`
      : `${ids.length} training jobs have ids that begin with ${quoted(typed)}; give more of the id`;
  throw new ServiceError({ code, message: `${what}. \`hone jobs list\` lists them.` });
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
